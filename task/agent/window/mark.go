package window

// place sets the cache breakpoints of the coming call, by the rules of the provider: behind what is the same for all conversations of an
// agent, where the call before has ended, and where this one does. Since the one before is always marked again, it is found
// however many blocks have come since. A call that rewrites the window marks in its place the last block before what is
// rewritten: what was cached up to there is still good.
func (p *Planner) place() []Mark {
	s := p.open.Setup
	if s.Cache.Marks <= 0 {
		return nil
	}
	marks := []Mark{}
	put := func(m Mark, tokens int) {
		if tokens < s.Cache.Minimum || len(marks) == s.Cache.Marks {
			return // too short a prefix is not cached, whatever one asks for
		}
		m.Long = p.long
		marks = append(marks, m)
	}
	end, tokens := p.end()
	if s.System != "" || len(s.Examples) > 0 {
		put(Mark{Message: OfSystem}, s.fixed())
	} else if len(s.Tools) > 0 {
		put(Mark{Message: OfTools}, s.toolTokens())
	}
	kept := p.marked
	if p.rewritten >= 0 {
		kept = p.before(p.rewritten)
	}
	if kept.Message >= 0 && kept != end {
		put(kept, p.upTo(kept))
	}
	put(end, tokens)
	p.marked = end
	return marks
}

// end is the last block of the last message of the user, and how many tokens the window has up to there.
func (p *Planner) end() (Mark, int) {
	for i := len(p.messages) - 1; i >= 0; i-- {
		if m := p.messages[i]; m.Role == User && len(m.Blocks) > 0 {
			at := Mark{Message: i, Block: len(m.Blocks) - 1}
			return at, p.upTo(at)
		}
	}
	return Mark{Message: OfTools - 1}, 0
}

// before is the end of the last message of the user before a message.
func (p *Planner) before(message int) Mark {
	for i := message - 1; i >= 0; i-- {
		if m := p.messages[i]; m.Role == User && len(m.Blocks) > 0 {
			return Mark{Message: i, Block: len(m.Blocks) - 1}
		}
	}
	return Mark{Message: OfTools - 1}
}

// upTo estimates the tokens up to a place, itself included.
func (p *Planner) upTo(at Mark) int {
	sum := p.open.Setup.fixed()
	for i := 0; i <= at.Message && i < len(p.messages); i++ {
		blocks := p.messages[i].Blocks
		if i == at.Message {
			blocks = blocks[:min(len(blocks), at.Block+1)]
		}
		sum += tokensOf(blocks)
	}
	return sum
}
