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
// What they authorize a request with is cut out of errors as the key is.
//
// # The prompt cache
//
// Info tells the rules: at most four breakpoints, which see 20 blocks back, and the least prefix that the model caches. A Window
// says where they are. One whose block can't carry it, being thinking or blank, moves to the block before in its message.
// Breakpoints for an hour have to stand before those for 5 minutes: the API refuses others.
//
// Where nobody plans (the Window's Marks are nil), they are behind the tools, behind the system text, and behind the last
// messages of the user in the call before and in this one. So each call reads what the one before has written, however many
// blocks its turn had, and other conversations of the same agent read tools and system text. CacheHour keeps all for an hour,
// at a higher price, whoever plans.
//
// The API has no mask of tools that would leave the cache in place: the Window's Allowed is not sent.
//
// # Native tools and native reduction
//
// A tool whose Native has an entry "anthropic" is sent as that type, such as memory_20250818. Clear and Compact have the
// provider clear old results and sum up long conversations; Info says that it does, so that nobody does it twice. A summary is
// a block of the conversation, which goes back as it came, and its tokens are an entry of the usage of their own. What the API says
// that it has cleared is in the Turn's Edits: it is kept with the call, and shown where windows, their costs and misses are.
//
// # What is not safe
//
// A call that is cut off reports the usage that the stream had told until then, which is less than what is billed.
package anthropic
