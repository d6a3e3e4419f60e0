package window

// place sets the cache breakpoints of the coming call, by the rules of the provider: behind what is the same for all conversations of an
// agent, where the call before has ended, and where this one does. Since the one before is always marked again, it is found
// however many blocks have come since. A call that rewrites the window marks in its place the last block before what is
// rewritten: what was cached up to there is still good. A prefix below the provider's minimum is marked, too: there are marks
// enough, one too many costs nothing, and how many tokens it has is an estimate.
func (p *Planner) place() []Mark {
	s := p.open.Setup
	if s.Cache.Marks <= 0 {
		if end := p.end(); p.long && s.Cache.Long > 0 && end.Message >= 0 { // that is all there is to ask for
			end.Long = true
			return []Mark{end}
		}
		return nil
	}
	marks := []Mark{}
	put := func(m Mark) {
		if len(marks) < s.Cache.Marks {
			m.Long = p.long
			marks = append(marks, m)
		}
	}
	end := p.end()
	if len(s.Tools) > 0 && s.Cache.Marks > 3 {
		put(Mark{Message: OfTools})
	}
	if s.System != "" || len(s.Examples) > 0 {
		put(Mark{Message: OfSystem})
	}
	kept := p.marked
	if p.rewritten >= 0 {
		kept = p.before(p.rewritten)
	}
	if kept.Message >= 0 && kept != end {
		put(kept)
	}
	if end.Message >= 0 {
		put(end)
	}
	p.marked = end
	return marks
}

// end is the last block of the last message of the user.
func (p *Planner) end() Mark { return p.before(len(p.messages)) }

// before is the end of the last message of the user before a message. Where there is none it is a place before all others, which is no
// mark.
func (p *Planner) before(message int) Mark {
	for i := message - 1; i >= 0; i-- {
		if m := p.messages[i]; m.Role == User && len(m.Blocks) > 0 {
			return Mark{Message: i, Block: len(m.Blocks) - 1}
		}
	}
	return Mark{Message: OfTools - 1}
}
