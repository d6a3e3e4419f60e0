-- How many items each bank has. Recall weighs words by it; counting a bank anew took a fifth of a recall. No trigger keeps it: one
-- would make each insert a statement of several writes, before which the full text index writes out all it has in memory.

CREATE TABLE mem_banks (
  bank  TEXT    PRIMARY KEY,
  items INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO mem_banks (bank, items) SELECT bank, count(*) FROM mem_items WHERE bank <> '' GROUP BY bank;
