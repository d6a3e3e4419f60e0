package research

import (
	"embed"
	"io/fs"
)

//go:embed sample/*.txt
var documents embed.FS

// lamp is what an empty directory is filled with: documents about a lamp that there never was.
func lamp() map[string]string {
	files := map[string]string{}
	err := fs.WalkDir(documents, "sample", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := documents.ReadFile(path)
		files[d.Name()] = string(raw)
		return err
	})
	if err != nil { // it is a part of the program
		panic(err)
	}
	return files
}
