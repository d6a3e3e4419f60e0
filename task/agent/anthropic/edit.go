package anthropic

import (
	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/cairnrun/cairn"
)

// When the provider begins to reduce a window, where nothing else is said: see Clear and Compact.
const (
	DefaultClearTrigger   = 100_000
	DefaultClearKeep      = 3
	DefaultClearAtLeast   = 20_000
	DefaultCompactTrigger = 150_000
)

// Clear has the provider leave out the results of old calls of tools (clear_tool_uses_20250919, a beta). The conversation
// keeps them: they are left out anew in each call, and the cached prefix ends where they begin to be.
type Clear struct {
	// Trigger is how many input tokens begin it. Defaults to DefaultClearTrigger.
	Trigger int
	// Keep is how many of the newest calls keep their results. Defaults to DefaultClearKeep; less than 0 is none.
	Keep int
	// AtLeast is how many tokens it has to free to be done at all. Defaults to DefaultClearAtLeast; less than 0 is any number.
	AtLeast int
	// Exclude are names of tools whose results stay.
	Exclude []string
	// Inputs leaves out also what the tools were called with.
	Inputs bool
}

// Compact has the provider sum up what was said (compact_20260112, a beta that not all models have). The summary is a block
// of the conversation, and what stands before it is read no more.
type Compact struct {
	// Trigger is how many input tokens begin it. Defaults to DefaultCompactTrigger; the provider takes none below 50,000.
	Trigger int
	// Instructions are the prompt of the summary, in place of the provider's own.
	Instructions string
}

// orDefault is n, or a default where nothing is said. Less than 0 is 0.
func orDefault(n, otherwise int) int64 {
	if n == 0 {
		n = otherwise
	}
	return int64(max(n, 0))
}

// edits are what the provider is to do to long windows.
func edits(cfg Config) (out []anthropic.BetaContextManagementConfigEditUnionParam) {
	if c := cfg.Clear; c != nil {
		edit := &anthropic.BetaClearToolUses20250919EditParam{
			ExcludeTools: c.Exclude,
			Keep:         anthropic.BetaToolUsesKeepParam{Value: orDefault(c.Keep, DefaultClearKeep), Type: "tool_uses"}, // 0 alone would be left out
			Trigger: anthropic.BetaClearToolUses20250919EditTriggerUnionParam{
				OfInputTokens: &anthropic.BetaInputTokensTriggerParam{Value: orDefault(c.Trigger, DefaultClearTrigger)}},
		}
		if least := orDefault(c.AtLeast, DefaultClearAtLeast); least > 0 {
			edit.ClearAtLeast = anthropic.BetaInputTokensClearAtLeastParam{Value: least}
		}
		if c.Inputs {
			edit.ClearToolInputs.OfBool = param.NewOpt(true)
		}
		out = append(out, anthropic.BetaContextManagementConfigEditUnionParam{OfClearToolUses20250919: edit})
	}
	if c := cfg.Compact; c != nil {
		edit := &anthropic.BetaCompact20260112EditParam{Trigger: anthropic.BetaInputTokensTriggerParam{Value: orDefault(c.Trigger, DefaultCompactTrigger)}}
		if c.Instructions != "" {
			edit.Instructions = param.NewOpt(c.Instructions)
		}
		out = append(out, anthropic.BetaContextManagementConfigEditUnionParam{OfCompact20260112: edit})
	}
	return out
}

// memoryTool is the native type that some platforms still have as a beta.
const memoryTool = "memory_20250818"

// betas are the names of the betas that a request uses.
func betas(cfg Config, tools []cairn.Tool) (names []anthropic.AnthropicBeta) {
	manages := cfg.Clear != nil
	for _, t := range tools {
		manages = manages || t.Native[provider] == memoryTool
	}
	if manages {
		names = append(names, anthropic.AnthropicBetaContextManagement2025_06_27)
	}
	if cfg.Compact != nil {
		names = append(names, anthropic.AnthropicBetaCompact2026_01_12)
	}
	return names
}
