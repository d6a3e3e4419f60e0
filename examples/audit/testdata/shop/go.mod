module example.com/shop // The fixture of the golden report.

go 1.26
