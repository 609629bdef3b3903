"""Small data sets and catalogs in the formats that people have, made from a table of images and labels."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

Table = Mapping[str, Sequence[str]]

IMAGES: Table = {"a.jpg": ["cat", "sea"], "b.jpg": [], "sub/c.png": ["sea", 'été | <&> "x"']}

ENTITIES = """<?xml version="1.0"?>
<!DOCTYPE {0} [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
<{0}><filename>&c;</filename></{0}>
"""
"""A document whose text grows by entities inside entities."""


class Style(NamedTuple):
    """How a text file is laid out."""

    indent: str | None = None
    crlf: bool = False
    bom: bool = False
    compact: bool = False

    def encode(self, text: str) -> bytes:
        text = text.replace("\n", "\r\n") if self.crlf else text
        return (b"\xef\xbb\xbf" if self.bom else b"") + text.encode()

    def json(self, value: Any) -> bytes:
        item = "," if self.compact or self.indent is not None else ", "
        text = json.dumps(
            value, indent=self.indent, ensure_ascii=self.compact, separators=(item, ":" if self.compact else ": ")
        )
        return self.encode(text + ("" if self.compact else "\n"))


PLAIN = Style()


def coco(folder: Path, table: Table, style: Style = PLAIN, boxes: bool = True) -> Path:
    names = sorted({label for labels in table.values() for label in labels})
    images = [{"id": n, "file_name": image, "width": 40, "height": 30} for n, image in enumerate(table, 1)]
    box = {"bbox": [1, 2, 3, 4], "area": 12, "iscrowd": 0, "segmentation": []} if boxes else {}
    pairs = [(n, label) for n, labels in enumerate(table.values(), 1) for label in labels]
    document = {
        "info": {"year": 2024},
        "images": images,
        "annotations": [
            {"id": k, "image_id": n, "category_id": names.index(label) + 1, **box}
            for k, (n, label) in enumerate(pairs, 10)
        ],
        "categories": [{"id": k, "name": name, "supercategory": "thing"} for k, name in enumerate(names, 1)],
    }
    path = folder / "instances.json"
    path.write_bytes(style.json(document))
    return path


def voc(folder: Path, table: Table, style: Style = PLAIN) -> Path:
    line = "\n" + style.indent if style.indent is not None else ""
    inner = line + (style.indent or "")
    for image, labels in table.items():
        place = (folder / "Annotations" / image).with_suffix(".xml")
        place.parent.mkdir(parents=True, exist_ok=True)
        objects = "".join(
            f"{line}<object>{inner}<name>{escape(label)}</name>{inner}<difficult>0</difficult>{line}</object>"
            for label in labels
        )
        size = f"{line}<size>{inner}<width>40</width>{inner}<height>30</height>{line}</size>"
        end = "\n" if line else ""
        text = f"<annotation>{line}<filename>{image.rpartition('/')[2]}</filename>{size}{objects}{end}</annotation>\n"
        place.write_bytes(style.encode(text))
    return folder


def cvat(folder: Path, table: Table, style: Style = PLAIN) -> Path:
    line = "\n" + style.indent if style.indent is not None else ""
    inner = line + (style.indent or "")
    names = sorted({label for labels in table.values() for label in labels})
    listed = "".join(f"<label><name>{escape(name)}</name><attributes></attributes></label>" for name in names)
    parts = [f"{line}<version>1.1</version>{line}<meta><task><labels>{listed}</labels></task></meta>"]
    for number, (image, labels) in enumerate(table.items()):
        opening = f'{line}<image id="{number}" name="{escape(image)}" width="40" height="30"'
        marks = "".join(f'{inner}<tag label="{escape(label)}" source="manual"></tag>' for label in labels)
        parts.append(f"{opening}>{marks}{line}</image>" if marks or number % 2 else f"{opening}/>")
    end = "\n" if line else ""
    path = folder / "annotations.xml"
    declaration = '<?xml version="1.0" encoding="utf-8"?>\n'
    path.write_bytes(style.encode(f"{declaration}<annotations>{''.join(parts)}{end}</annotations>\n"))
    return path


def label_studio(folder: Path, table: Table, style: Style = PLAIN) -> Path:
    def result(labels: Sequence[str]) -> dict[str, Any]:
        return {"from_name": "choice", "to_name": "image", "type": "choices", "value": {"choices": list(labels)}}

    tasks = [
        {
            "id": number,
            "annotations": [{"id": number, "result": [result(labels)], "was_cancelled": False}] if labels else [],
            "predictions": [],
            "data": {"image": f"/data/local-files/?d={image}"},
        }
        for number, (image, labels) in enumerate(table.items(), 1)
    ]
    path = folder / "project-1.json"
    path.write_bytes(style.json(tasks))
    return path


def label_studio_min(folder: Path, table: Table, style: Style = PLAIN) -> Path:
    tasks = []
    for number, (image, labels) in enumerate(table.items(), 1):
        choice = {} if not labels else {"choice": labels[0] if len(labels) == 1 else {"choices": list(labels)}}
        rest = {"annotator": 1, "annotation_id": number, "lead_time": 1.5}
        tasks.append({"image": image, "id": number, **choice, **rest})
    path = folder / "project-1-min.json"
    path.write_bytes(style.json(tasks))
    return path


def imagefolder(folder: Path, table: Table, style: Style = PLAIN) -> Path:
    rows = [{"file_name": image, "text": "a picture", "labels": list(labels)} for image, labels in table.items()]
    item = (",", ":") if style.compact else (", ", ": ")
    lines = [json.dumps(row, ensure_ascii=style.compact, separators=item) for row in rows]
    (folder / "metadata.jsonl").write_bytes(style.encode("\n".join(lines) + "\n"))
    return folder


def imagefolder_csv(folder: Path, table: Table, style: Style = PLAIN) -> Path:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["file_name", "text", "labels"])
    writer.writerows([image, 'a "picture", 2', "|".join(labels)] for image, labels in table.items())
    (folder / "metadata.csv").write_bytes(style.encode(text.getvalue()))
    return folder


WRITABLE: dict[str, Callable[[Path, Table, Style], Path]] = {
    "coco": coco,
    "voc": voc,
    "cvat": cvat,
    "label-studio": label_studio,
    "label-studio-min": label_studio_min,
    "imagefolder": imagefolder,
    "imagefolder-csv": imagefolder_csv,
}


def yolo(folder: Path, table: Table) -> Path:
    names = sorted({label for labels in table.values() for label in labels})
    listed = "".join(f"  {number}: {json.dumps(name)}\n" for number, name in enumerate(names))
    (folder / "data.yaml").write_text(f"train: images/train\nnames:\n{listed}", encoding="utf-8")
    for image, labels in table.items():
        picture = folder / "images" / "train" / image
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(b"\xff\xd8\xff\xd9")
        boxes = (folder / "labels" / "train" / image).with_suffix(".txt")
        boxes.parent.mkdir(parents=True, exist_ok=True)
        boxes.write_text("".join(f"{names.index(label)} 0.5 0.5 0.1 0.1\n" for label in labels))
    return folder


def class_folders(folder: Path, table: Table) -> Path:
    for number, labels in enumerate(table.values()):
        for label in labels:
            picture = folder / ("train" if number % 2 else "val") / label / f"{number}.jpg"
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_bytes(b"\xff\xd8\xff\xd9")
    return folder


def lightroom(folder: Path, table: Table) -> Path:
    """A catalog with the columns that Lightroom Classic 11 to 13 have, after published schemas."""
    path = folder / "Lightroom Catalog.lrcat"
    with sqlite3.connect(path) as db:
        db.executescript(
            """
            CREATE TABLE Adobe_images (id_local INTEGER PRIMARY KEY, id_global UNIQUE NOT NULL, masterImage INTEGER,
                rootFile INTEGER NOT NULL DEFAULT 0);
            CREATE TABLE AgLibraryFile (id_local INTEGER PRIMARY KEY, baseName NOT NULL DEFAULT '',
                extension NOT NULL DEFAULT '', folder INTEGER NOT NULL DEFAULT 0, idx_filename NOT NULL DEFAULT '');
            CREATE TABLE AgLibraryFolder (id_local INTEGER PRIMARY KEY, pathFromRoot NOT NULL DEFAULT '',
                rootFolder INTEGER NOT NULL DEFAULT 0);
            CREATE TABLE AgLibraryRootFolder (id_local INTEGER PRIMARY KEY, absolutePath UNIQUE NOT NULL DEFAULT '');
            CREATE TABLE AgLibraryKeyword (id_local INTEGER PRIMARY KEY, lc_name, name, parent INTEGER);
            CREATE TABLE AgLibraryKeywordImage (id_local INTEGER PRIMARY KEY, image INTEGER NOT NULL DEFAULT 0,
                tag INTEGER NOT NULL DEFAULT 0);
            INSERT INTO AgLibraryRootFolder VALUES (1, 'C:/Users/me/Pictures/');
            INSERT INTO AgLibraryKeyword VALUES (1, NULL, NULL, NULL);
            """
        )
        ids = _insert_tree(db, table, "AgLibraryKeyword (id_local, parent, name)", first=2, top=1)
        folders: dict[str, int] = {}
        for number, (image, labels) in enumerate(table.items(), 1):
            inside, _, name = image.rpartition("/")
            if inside not in folders:
                folders[inside] = len(folders) + 1
                row = (folders[inside], f"{inside}/" if inside else "", 1)
                db.execute("INSERT INTO AgLibraryFolder VALUES (?, ?, ?)", row)
            db.execute(
                "INSERT INTO AgLibraryFile (id_local, folder, idx_filename) VALUES (?, ?, ?)",
                (number, folders[inside], name),
            )
            db.execute("INSERT INTO Adobe_images VALUES (?, ?, NULL, ?)", (number, f"uuid-{number}", number))
            for label in labels:
                db.execute("INSERT INTO AgLibraryKeywordImage (image, tag) VALUES (?, ?)", (number, ids[label]))
    return path


def digikam(folder: Path, table: Table) -> Path:
    """A database with the tables that digiKam 8 makes, as its dbconfig.xml declares them."""
    path = folder / "digikam4.db"
    with sqlite3.connect(path) as db:
        db.executescript(
            """
            CREATE TABLE AlbumRoots (id INTEGER PRIMARY KEY, label TEXT, status INTEGER NOT NULL,
                type INTEGER NOT NULL, identifier TEXT, specificPath TEXT);
            CREATE TABLE Albums (id INTEGER PRIMARY KEY, albumRoot INTEGER NOT NULL, relativePath TEXT NOT NULL);
            CREATE TABLE Images (id INTEGER PRIMARY KEY, album INTEGER, name TEXT NOT NULL, status INTEGER NOT NULL,
                category INTEGER NOT NULL);
            CREATE TABLE Tags (id INTEGER PRIMARY KEY, pid INTEGER, name TEXT NOT NULL, icon INTEGER, iconkde TEXT);
            CREATE TABLE ImageTags (imageid INTEGER NOT NULL, tagid INTEGER NOT NULL, UNIQUE (imageid, tagid));
            CREATE TABLE TagProperties (tagid INTEGER, property TEXT, value TEXT);
            INSERT INTO AlbumRoots VALUES (1, 'Pictures', 0, 1, 'volumeid:?path=/home/me/My Pictures', '/');
            INSERT INTO Tags (id, pid, name) VALUES (1, 0, '_Digikam_Internal_Tags_');
            INSERT INTO Tags (id, pid, name) VALUES (2, 1, 'Color Label Red');
            INSERT INTO Tags (id, pid, name) VALUES (3, 0, 'People');
            INSERT INTO Tags (id, pid, name) VALUES (4, 3, 'Unknown');
            INSERT INTO TagProperties VALUES (4, 'unknownPerson', NULL);
            """
        )
        ids = _insert_tree(db, table, "Tags (id, pid, name)", first=10, top=0)
        albums: dict[str, int] = {}
        for number, (image, labels) in enumerate(table.items(), 1):
            inside, _, name = image.rpartition("/")
            if inside not in albums:
                albums[inside] = len(albums) + 1
                db.execute("INSERT INTO Albums VALUES (?, 1, ?)", (albums[inside], f"/{inside}"))
            db.execute("INSERT INTO Images VALUES (?, ?, ?, 1, 1)", (number, albums[inside], name))
            for tag in (2, 4, *(ids[label] for label in labels)):
                db.execute("INSERT INTO ImageTags VALUES (?, ?)", (number, tag))
        db.execute("INSERT INTO Images VALUES (1000, NULL, 'gone.jpg', 3, 1)")
        db.execute("INSERT INTO Images VALUES (1001, 1, 'in the trash.jpg', 3, 1)")
    return path


def darktable(folder: Path, table: Table) -> Path:
    """The tables of darktable 4 that labels need, as darktable-cli 4.2 creates them."""
    with sqlite3.connect(folder / "data.db") as db:
        db.execute("CREATE TABLE tags (id INTEGER PRIMARY KEY, name VARCHAR, synonyms VARCHAR, flags INTEGER)")
        db.execute("INSERT INTO tags (id, name) VALUES (1, 'darktable|format|jpg')")
        names = sorted({label for labels in table.values() for label in labels})
        db.executemany("INSERT INTO tags (id, name) VALUES (?, ?)", list(enumerate(names, 2)))
    with sqlite3.connect(folder / "library.db") as db:
        db.executescript(
            """
            CREATE TABLE film_rolls (id INTEGER PRIMARY KEY, access_timestamp INTEGER, folder VARCHAR(1024) NOT NULL);
            CREATE TABLE images (id INTEGER PRIMARY KEY AUTOINCREMENT, group_id INTEGER, film_id INTEGER,
                filename VARCHAR, version INTEGER);
            CREATE TABLE tagged_images (imgid INTEGER, tagid INTEGER, position INTEGER, PRIMARY KEY (imgid, tagid));
            INSERT INTO film_rolls VALUES (1, 0, '/home/me/Pictures');
            """
        )
        rolls = {"": 1}
        for number, (image, labels) in enumerate(table.items(), 1):
            inside, _, name = image.rpartition("/")
            if inside not in rolls:
                rolls[inside] = len(rolls) + 1
                db.execute("INSERT INTO film_rolls VALUES (?, 0, ?)", (rolls[inside], f"/home/me/Pictures/{inside}"))
            db.execute("INSERT INTO images VALUES (?, ?, ?, ?, 0)", (number, number, rolls[inside], name))
            for tag in (1, *(names.index(label) + 2 for label in labels)):
                db.execute("INSERT INTO tagged_images VALUES (?, ?, 0)", (number, tag))
    return folder / "library.db"


def hydrus(folder: Path, table: Table) -> Path:
    """The tables of a Hydrus client of version 660 that labels need, after its source; images are by SHA-256."""
    with sqlite3.connect(folder / "client.db") as db:
        db.executescript(
            """
            CREATE TABLE services (service_id INTEGER PRIMARY KEY AUTOINCREMENT, service_key BLOB_BYTES UNIQUE,
                service_type INTEGER, name TEXT, dictionary_string TEXT);
            INSERT INTO services VALUES (2, x'01', 2, 'my files', ''), (5, x'02', 5, 'my tags', ''),
                (6, x'03', 0, 'public tag repository', ''), (9, x'04', 14, 'trash', '');
            CREATE TABLE files_info (hash_id INTEGER PRIMARY KEY, size INTEGER, mime INTEGER);
            CREATE TABLE current_files_2 (hash_id INTEGER PRIMARY KEY, timestamp_ms INTEGER);
            CREATE TABLE current_client_files_locations (location_id INTEGER PRIMARY KEY, location TEXT UNIQUE);
            CREATE TABLE client_files_subfolders (prefix TEXT, location_id INTEGER);
            INSERT INTO current_client_files_locations VALUES (1, 'client_files');
            """
        )
        for number in range(1, len(table) + 1):
            db.execute("INSERT INTO files_info VALUES (?, 10, 1)", (number,))
            db.execute("INSERT INTO current_files_2 VALUES (?, 0)", (number,))
        db.execute("INSERT INTO files_info VALUES (1000, 10, 1)")  # in the trash
    with sqlite3.connect(folder / "client.master.db") as db:
        db.executescript(
            """
            CREATE TABLE hashes (hash_id INTEGER PRIMARY KEY, hash BLOB_BYTES UNIQUE);
            CREATE TABLE namespaces (namespace_id INTEGER PRIMARY KEY, namespace TEXT UNIQUE);
            CREATE TABLE subtags (subtag_id INTEGER PRIMARY KEY, subtag TEXT UNIQUE);
            CREATE TABLE tags (tag_id INTEGER PRIMARY KEY, namespace_id INTEGER, subtag_id INTEGER);
            INSERT INTO namespaces VALUES (1, ''), (2, 'character');
            """
        )
        names = sorted({label for labels in table.values() for label in labels})
        for number, image in enumerate([*table, *["ff" * 32] * (1000 - len(table))][:1000], 1):
            if number <= len(table) or number == 1000:
                db.execute("INSERT INTO hashes VALUES (?, ?)", (number, bytes.fromhex(image)))
        for number, name in enumerate(names, 1):
            space, _, subtag = name.rpartition(":")
            db.execute("INSERT INTO subtags VALUES (?, ?)", (number, subtag))
            db.execute("INSERT INTO tags VALUES (?, ?, ?)", (number, 2 if space else 1, number))
    with sqlite3.connect(folder / "client.mappings.db") as db:
        for service in (5, 6):
            db.execute(
                f"CREATE TABLE current_mappings_{service} "
                "(tag_id INTEGER, hash_id INTEGER, PRIMARY KEY (tag_id, hash_id)) WITHOUT ROWID"
            )
        for number, labels in enumerate(table.values(), 1):
            for position, label in enumerate(labels):
                service = 5 + position % 2
                db.execute(f"INSERT INTO current_mappings_{service} VALUES (?, ?)", (names.index(label) + 1, number))
    return folder


def _insert_tree(db: sqlite3.Connection, table: Table, columns: str, first: int, top: int) -> dict[str, int]:
    """Insert tags with their ancestors and return the id of each."""
    ids: dict[str, int] = {}
    for label in sorted({label for labels in table.values() for label in labels}):
        parts = label.split("|")
        for depth in range(1, len(parts) + 1):
            path = "|".join(parts[:depth])
            if path not in ids:
                ids[path] = first + len(ids)
                parent = ids["|".join(parts[: depth - 1])] if depth > 1 else top
                db.execute(f"INSERT INTO {columns} VALUES (?, ?, ?)", (ids[path], parent, parts[depth - 1]))
    return ids
