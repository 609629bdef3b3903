-- Its statements may run again.
CREATE TABLE IF NOT EXISTS batches (
    batch INTEGER PRIMARY KEY REFERENCES events,
    last INTEGER NOT NULL REFERENCES events CHECK (last >= batch)
);
CREATE TRIGGER IF NOT EXISTS no_batch_is_deleted BEFORE DELETE ON batches
    BEGIN SELECT RAISE(ABORT, 'batches are never deleted: undo one'); END;
CREATE TRIGGER IF NOT EXISTS no_batch_is_changed BEFORE UPDATE ON batches
    BEGIN SELECT RAISE(ABORT, 'batches are never changed: undo one'); END;
