// Package mcp joins Cairn's tools and the Model Context Protocol, on the official SDK: tools of MCP servers become tools of
// an agent, and tools of Cairn become an MCP server for programs that are agents themselves.
//
//	files, err := mcp.Connect(ctx, mcp.Server{
//		Name:    "files",
//		Command: []string{"mcp-server-filesystem", dir},
//		Allow:   []string{"read_file", "search_files"},
//		Reads:   []string{"read_file", "search_files"},
//	})
//	defer files.Close()
//	tools, err := tool.Set(own, files.Tools())
//
// A server is not trusted: only tools that are allowed by name are there, what it says about them is text for a model and
// nothing else, and it is offered nothing in turn: no sampling, no elicitation, no roots. What it does on its own side this
// package can't see; run servers that are not trusted in a container.
package mcp
