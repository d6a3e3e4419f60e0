//go:build unix && !linux

package tool_test

const nestedEnv = "CAIRN_TOOL_NESTED"

func nested() {}
