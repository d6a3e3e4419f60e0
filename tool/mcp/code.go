package mcp

import "github.com/cairnrun/cairn"

// The codes of this package's errors, each a *cairn.Error.
const (
	// Invalid: a Server, or a tool to serve, is wrong: no name, no or two ways to reach it, nothing allowed, a schema of no object.
	Invalid cairn.Code = "MCP_INVALID"
	// Unreachable: no connection could be made. Nothing was called.
	Unreachable cairn.Code = "MCP_UNREACHABLE"
	// Missing: the server has no tool that is allowed.
	Missing cairn.Code = "MCP_TOOL_MISSING"
	// Changed: after a connection was lost, the server describes a tool otherwise than before.
	Changed cairn.Code = "MCP_TOOL_CHANGED"
	// Unknown: the connection was lost while a tool with a side effect was called, so it is not known whether it happened.
	Unknown cairn.Code = "MCP_OUTCOME_UNKNOWN"
	// ToolFailed: the tool, or the server for it, answered with an error.
	ToolFailed cairn.Code = "MCP_TOOL_FAILED"
	// Closed: the client was closed.
	Closed cairn.Code = "MCP_CLOSED"
)
