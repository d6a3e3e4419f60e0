// Package tool makes tools for agents: of Go functions, and the ones that most agents need.
//
// A tool is data (cairn.Tool): a name, a description, a schema and a function on JSON. What a model sends is never to be
// trusted, so New puts a check in front of the function, and an error whose text a model can act on:
//
//	type question struct {
//		City string `json:"city" validate:"required" jsonschema_description:"The town's English name."`
//	}
//
//	weather := tool.New("weather", "Tells the weather of today.",
//		func(ctx context.Context, q question) (Report, error) { … }, tool.Timeout(5*time.Second))
//	tools, err := tool.Set([]cairn.Tool{weather}, tool.Files(root, tool.FileLimits{}))
package tool
