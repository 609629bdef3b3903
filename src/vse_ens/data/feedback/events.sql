CREATE TABLE events (
    event INTEGER PRIMARY KEY,
    image TEXT NOT NULL,
    label TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'reject', 'undo')),
    by TEXT NOT NULL,
    at TEXT NOT NULL,
    source TEXT NOT NULL,
    confidence REAL,
    model TEXT NOT NULL,
    undoes INTEGER REFERENCES events CHECK ((undoes IS NOT NULL) = (verdict = 'undo')),
    reference TEXT
);
CREATE INDEX events_of_pair ON events (image, label, event);
CREATE UNIQUE INDEX undone_once ON events (undoes) WHERE undoes IS NOT NULL;
CREATE INDEX events_of_reference ON events (reference) WHERE reference IS NOT NULL;
CREATE TRIGGER no_event_is_deleted BEFORE DELETE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never deleted: undo one by another'); END;
CREATE TRIGGER no_event_is_changed BEFORE UPDATE ON events
    BEGIN SELECT RAISE(ABORT, 'events are never changed: undo one by another'); END;
CREATE VIEW in_force AS
    SELECT image, label, verdict, by, at, source, confidence, model, reference, max(event) AS event
    FROM events AS said
    WHERE undoes IS NULL AND NOT EXISTS (SELECT 1 FROM events AS later WHERE later.undoes = said.event)
    GROUP BY image, label;
