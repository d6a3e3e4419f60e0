package toolset

import "github.com/cairnrun/cairn"

// Identity is what answers depend on besides what a model is told of the tools: who works behind them, and what they work on, as
// far as they tell. For the identity of an agent.
func Identity(tools []cairn.Tool) (delegates, bound []string) {
	for _, t := range tools {
		if t.Delegation != nil {
			delegates = append(delegates, t.Name+" "+t.Delegation.Identity)
		}
		if t.Bound != "" {
			bound = append(bound, t.Name+" "+t.Bound)
		}
	}
	return delegates, bound
}
