// Package answer is what agents of all kinds do about an answer: they find the JSON in what
// a model says (Read), say why an answer is refused (Refused), and what went wrong in earlier attempts (Earlier).
//
//	output, wrong := answer.Read(text, req.Schema, req.Check)
//	if wrong != nil {
//		text = ask(answer.Refused(wrong, req.Schema != nil))
//	}
//
// Equal arguments give equal bytes, and all texts are bounded.
//
// # What is not safe
//
// Read takes the last object or list in a text that passes, which may be an example that the model gave.
package answer
