package window

// bytesPerToken is what most tokenizers make of English text and code, roughly.
const bytesPerToken = 4

// Tokens estimates how many tokens a text of so many bytes has, rounded up.
func Tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// overhead is what a block costs besides its text.
const overhead = 8

// tokens is what a block counts for.
func (b Block) tokens() int {
	return overhead + Tokens(len(b.Text)+len(b.Name)+len(b.Input)+len(b.Raw))
}

func tokensOf(blocks []Block) (sum int) {
	for _, b := range blocks {
		sum += b.tokens()
	}
	return sum
}

// fixed is what tools, system text and schema count for.
func (s Setup) fixed() int {
	return s.toolTokens() + Tokens(len(s.Text())) + Tokens(len(s.Schema))
}

func (s Setup) toolTokens() (sum int) {
	for _, t := range s.Tools {
		sum += overhead + Tokens(len(t.Name)+len(t.Description)+len(t.Schema))
	}
	return sum
}
