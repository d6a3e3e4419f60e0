package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

func (a *app) primers() *cobra.Command {
	c := &cobra.Command{
		Use:   "primers",
		Short: "Choose the notes that tasks are given whole",
		Args:  takes(),
	}
	c.AddCommand(a.primersList(), a.pin("pin", true, "Make a note a primer"), a.pin("unpin", false, "Make a primer a note as others"), a.primersShow())
	return c
}

func (a *app) primersList() *cobra.Command {
	var f scoped
	c := &cobra.Command{
		Use:   "list [NAMESPACE]",
		Short: "List the pinned notes that count: of a namespace, of a bank, or all",
		Example: `memory primers list
memory primers list --bank project-x`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.ns = args[0]
			}
			var scope memory.Scope
			var err error
			if f.ns != "" || f.bank != "" {
				if scope, err = f.scope(); err != nil {
					return err
				}
			}
			scope.Pinned = true
			var list []memory.Note
			if _, err := a.recollecting(c.Context(), func(m *lanes.Store) error {
				spaces := []memory.Namespace{scope.Namespace}
				if f.ns == "" && f.bank == "" {
					if spaces, err = m.Namespaces(c.Context()); err != nil {
						return err
					}
				}
				for _, scope.Namespace = range spaces {
					some, err := m.Notes(c.Context(), scope)
					if err != nil {
						return err
					}
					list = append(list, some...)
				}
				return nil
			}); err != nil {
				return err
			}
			return a.listNotes(list)
		},
	}
	c.Flags().StringVar(&f.bank, "bank", "", "only what is in this bank")
	return c
}

func (a *app) pin(verb string, pinned bool, about string) *cobra.Command {
	return &cobra.Command{
		Use:     verb + " NAMESPACE ID",
		Short:   about,
		Example: "memory primers " + verb + " workflow:runbook conventions",
		Args:    takes("NAMESPACE", "ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.changeNote(c.Context(), args, func(m *lanes.Store, ns memory.Namespace, id string) (memory.Note, error) {
				return m.SetPinned(c.Context(), ns, id, pinned)
			})
		},
	}
}

func (a *app) primersShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show BANK ID",
		Short:   "Print a primer as the tasks of a bank are given it",
		Example: "memory primers show project-x conventions",
		Args:    takes("BANK", "ID"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := memory.CheckBank(args[0]); err != nil {
				return err
			}
			var p memory.Primer
			there, err := a.recollecting(c.Context(), func(m *lanes.Store) (err error) {
				p, err = m.Primer(c.Context(), args[0], args[1])
				return err
			})
			if err == nil && !there {
				err = a.unpinned(args[0], args[1])
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.put(p)
			}
			_, err = fmt.Fprintln(a.out, p.Text)
			return err
		},
	}
}

func (a *app) unpinned(bank, id string) error {
	return &cairn.Error{Code: memory.NotFound, Message: fmt.Sprintf("bank %s has no primer %q", bank, id), Next: "see " + a.hint("memory", "primers", "list")}
}
