// Package anthropic is a loop.Model that asks Claude, by the official SDK: streaming, tools in parallel, answers held to a
// schema, the prompt cache.
//
//	agent := &loop.Agent{Model: anthropic.New(anthropic.Config{Model: "claude-opus-4-8"})}
//
// The key is taken from Config.Key, or from ANTHROPIC_API_KEY if no BaseURL is set: it goes to no server that it was not meant
// for. It appears in no error, event, journal or identity. Nothing else is read from the environment. Other ways in, such as
// Bedrock and Vertex, are options of the SDK:
//
//	anthropic.New(anthropic.Config{Model: "…", Options: []option.RequestOption{bedrock.WithConfig(aws)}})
//
// # The prompt cache
//
// Up to four breakpoints are set: behind the tools, behind the system text, and behind the last messages of the user in the
// call before and in this one. So each call reads what the one before has written, however many blocks its turn had, and
// other conversations of the same agent read tools and system text. CacheHour keeps all for an hour, at a higher price.
//
// # What is not safe
//
// A call that is cut off reports the usage that the stream had told until then, which is less than what is billed.
package anthropic
