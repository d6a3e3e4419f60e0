// Package openai is a loop.Model that asks OpenAI's models by the official SDK: the Responses API, or Chat Completions for
// servers that speak it as well (Ollama, vLLM, llama.cpp).
//
//	openai.New(openai.Config{Model: "gpt-6-sol"})
//	openai.New(openai.Config{Model: "qwen3", Chat: true, BaseURL: "http://localhost:11434/v1/", Provider: "ollama"})
//
// The key is taken from Config.Key, or from OPENAI_API_KEY if no BaseURL is set: it goes to no server that it was not meant
// for. It appears in no error, event, journal or identity. Nothing else is read from the environment.
//
// Nothing is stored at OpenAI (store: false). Reasoning comes back encrypted and is sent along in later turns, as all of a
// model's output is: item by item, as it came. Chat Completions has no such items; what a server calls reasoning there is
// neither kept nor sent back.
//
// # The prompt cache
//
// OpenAI finds the longest known prefix by itself, so Info asks for no marks and none is sent; one that is Long asks for the
// longer life that a model may have. Calls go under a key, by which equal prefixes meet in one cache: see Config.CacheKey.
// The Window's Allowed is a mask (tool_choice), which leaves the tools, and with them the prefix, as they are.
//
// # Compaction
//
// Config.Compact has Responses sum up long conversations; Info says that it does, so that nobody does it twice. The summary is
// an opaque block of the conversation, which goes back as it came. What stands before it is sent along, and read no more.
//
// # What is not safe
//
// A call that is cut off has told no usage: OpenAI sends it with the end of the stream only. Strict schemas know no optional
// fields. Where the type has some, the model is told that they may be null, which reads as the field's zero value.
package openai
