"""Attacks that tests repeat: each test, or each of its cases, counts as one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

from benchmarks.core.sources import ROOT
from benchmarks.robustness.attacks.attack import Attack, Outcome

_COLLECTIONS = "data/collections/test_untrusted.py"


def _run(tests: tuple[str, ...]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        done = subprocess.run(
            [*command, *(f"tests/{one}" for one in tests)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if not report.exists():
            raise RuntimeError(done.stdout + done.stderr)
        cases = list(ET.parse(report).iter("testcase"))
    outcome, skipped = Outcome(seen="as the tests expect"), []
    for case in cases:
        if (reason := case.find("skipped")) is not None:
            skipped.append(reason.get("message", ""))
            continue
        fault = next((one.get("message", "") for kind in ("failure", "error") for one in case.findall(kind)), None)
        outcome.check(fault is None, f"{case.get('name')}: {' '.join((fault or '').split())[:200]}")
    if skipped:
        outcome.seen += f"; {len(skipped)} not run: {skipped[0]}"
    if not outcome.tried:
        outcome.skipped = skipped[0] if skipped else "no test was found"
    return outcome


def _by(*tests: str) -> Callable[[int], Outcome]:
    """Return what runs some tests, named from the folder ``tests`` on."""
    return lambda _: _run(tests)


def _attack(what: str, before: str, *tests: str) -> Attack:
    return Attack(what, _by(*tests), 1, 1, before)


def _untrusted(*names: str) -> tuple[str, ...]:
    return tuple(f"{_COLLECTIONS}::{name}" for name in names)


REPEATED = {
    "trailers": _attack(
        "chunked trailers, one of them endless, with and without a key",
        "253 MB to 3 GB of memory, 16 s on one connection",
        "service/test_connection.py::test_trailers_count_against_the_limit_of_the_head",
        "service/test_connection.py::test_no_trailer_becomes_a_header",
        "service/test_limited_protocol.py::test_trailers_are_limited_and_dropped",
    ),
    "slow requests": _attack(
        "requests, blank lines and heads that trickle a byte at a time",
        "490 connections open for ever",
        "service/test_connection.py::test_a_refused_request_that_trickles_is_closed",
        "service/test_connection.py::test_blank_lines_do_not_keep_a_connection",
        "service/test_limited_protocol.py::test_blank_lines_do_not_prolong_the_time_for_a_head",
        "service/test_server.py::test_a_head_that_drips_is_given_up",
        "service/test_server.py::test_slow_requests_are_refused_while_others_are_served",
    ),
    "clients that never read": _attack(
        "clients that never read their answers",
        "40 connections open at 97 s",
        "service/test_connection.py::test_a_client_that_never_reads_is_closed",
        "service/test_limited_protocol.py::test_a_client_that_reads_nothing_is_disconnected",
        "service/test_limited_protocol.py::test_a_client_that_does_not_accept_an_answer_is_disconnected",
        "service/test_limited_protocol.py::test_unread_answers_do_not_keep_a_refused_connection",
    ),
    "many requests at once": _attack(
        "thousands of requests in one segment, without a key",
        "254 to 540 MB, 35 s to stop",
        "service/test_limited_protocol.py::test_a_connection_does_not_collect_requests_without_end",
        "service/test_limited_protocol.py::test_too_many_connections_are_refused",
        "service/test_server.py::test_too_many_connections_are_told_to_come_back",
    ),
    "heads and bodies": _attack(
        "heads of 32 to 256 kB in one segment, endless heads, large bodies, bytes without a request",
        "accepted",
        "service/test_connection.py::test_a_head_in_one_piece_is_refused_like_one_in_many",
        "service/test_limited_protocol.py::test_a_head_is_limited_in_one_piece_and_in_many",
        "service/test_server.py::test_an_endless_head_is_refused",
        "service/test_server.py::test_a_large_body_is_refused_over_a_socket_too",
        "service/test_server.py::test_bytes_that_are_not_a_request_are_refused",
    ),
    "Host headers": _attack(
        "two `Host` headers, and foreign names that lead here",
        "two were accepted",
        "service/middleware/test_access.py::test_two_host_headers_are_refused",
        "service/middleware/test_access.py::test_a_foreign_name_that_leads_here_is_refused",
    ),
    "interfaces of Label Studio": _attack(
        "labeling interfaces: nested `<Choices>`, a `pathSeparator` of 100 kB, document types",
        "13 s and 0.8 GB, 22 s and 8 GB",
        "service/label_studio/test_config.py::test_an_invalid_interface_is_refused",
        "service/label_studio/test_config.py::test_tags_in_tags_without_end_do_no_harm",
    ),
    "webhooks": _attack(
        "webhooks with up to 100,000 labels",
        "one minute, stored in part, a transaction for each",
        "service/label_studio/test_routes.py::test_a_webhook_is_kept_whole_in_one_transaction_or_refused",
    ),
    "SIGTERM": _attack(
        "SIGTERM while a thread or the event loop hangs",
        "never ended",
        "service/test_server.py::test_a_stopping_service_ends_whatever_it_is_doing",
    ),
    "user names": _attack(
        "newlines and escape sequences in `X-VSE-User`",
        "stored",
        "service/routes/test_feedback.py::test_a_name_of_several_lines_is_refused",
    ),
    "feedback file gone": _attack(
        "feedback file deleted, moved or replaced while it is served",
        "verdicts acknowledged and lost",
        "data/feedback/test_verdicts.py::test_nothing_is_acknowledged_after_the_file_was_deleted",
    ),
    "hostile models": _attack(
        "models with valid checksums and hostile arrays, each with and without `verify`",
        "114 of 315 accepted, 7 crashes, 10 hangs",
        "model/test_hostile_models.py::test_is_refused_on_every_load",
    ),
    "model files": _attack(
        "FIFOs, devices, folders and huge text in place of the files of a model",
        "hangs, memory",
        "storage/test_reader.py::test_a_fifo_is_refused_without_waiting_for_a_writer",
        "storage/test_reader.py::test_a_device_is_refused",
        "storage/test_reader.py::test_a_folder_in_place_of_a_file_is_refused",
        "storage/test_reader.py::test_a_huge_manifest_is_refused_before_it_is_parsed",
        "storage/test_reader.py::test_huge_text_is_refused_before_it_is_parsed",
    ),
    "served models": _attack(
        "models that are damaged, cut while they are served, or name an unknown format or `/proc`",
        "62 of 200 flipped bits crashed or gave wrong answers; `/api/model` refused; 19 s",
        "service/test_models.py::test_a_damaged_model_is_neither_served_nor_swapped_in",
        "service/test_models.py::test_a_served_model_truncated_in_place_still_answers",
        "service/routes/test_rules.py::test_a_model_that_names_an_unknown_format_is_served",
        "service/routes/test_rules.py::test_a_model_that_names_the_files_of_the_system_is_answered_at_once",
    ),
    "working folders": _attack(
        "folders `M.checkpoint.shards` with hostile files and links",
        "11 partitions accepted, 9 tracebacks, 3 hangs",
        "train/sharded/test_hostile_files.py",
    ),
    "index files": _attack(
        "index files of usearch: hostile numbers, flipped bits, pipes",
        "24 crashes, 2 hangs",
        "model/test_ann_index.py::test_a_hostile_index_is_refused_before_it_is_followed",
        "model/test_ann_index.py::test_a_pipe_is_no_index",
    ),
    "pictures": _attack(
        "pictures: repeated scans, too many pixels, segments or bytes, PostScript, 59 million pixels of 16 bits",
        "10 s each, growing with the scans; 1.4 GB each",
        "service/pictures/test_thumbnail.py::test_too_many_scans_are_refused_before_decoding",
        "service/pictures/test_thumbnail.py::test_too_many_pixels_are_refused_before_decoding",
        "service/pictures/test_thumbnail.py::test_a_picture_of_too_many_segments_is_refused",
        "service/pictures/test_thumbnail.py::test_a_file_of_too_many_bytes_is_refused_unread",
        "service/pictures/test_thumbnail.py::test_postscript_is_not_run",
        "service/pictures/test_thumbnail.py::test_large_pictures_are_reduced_in_strips_and_wait_for_each_other",
    ),
    "pairs and features": _attack(
        "files of pairs and features: pipes, very long lines, deep nesting, a million columns, random bytes",
        "23 of 2,437 files: tracebacks, hangs or 4 GB",
        "data/io/test_hostile_files.py",
    ),
    "foreign files": _attack(
        "foreign files in `M.checkpoint`, in `--out` and under our temporary names",
        "deleted or replaced",
        "train/test_run_files.py",
        "storage/test_writer.py::test_files_of_another_program_under_our_names_are_not_lost",
        "storage/test_atomic.py::test_a_file_of_a_temporary_name_is_not_followed",
    ),
    "two trainings": _attack(
        "two trainings to one `--out`",
        "the last won, the checkpoint of the other was deleted",
        "storage/test_atomic.py::test_a_path_is_reserved_by_one_process_at_a_time",
    ),
    "links": _attack(
        "links in place of files of tags: dangling, to a file, to a folder, to images",
        "a file outside was created or overwritten, undo did not restore",
        *_untrusted(
            "test_a_link_out_of_the_collection_is_refused_and_counted",
            "test_a_folder_that_is_a_link_out_of_the_collection_is_left",
            "test_a_link_inside_the_collection_stays_a_link",
            "test_a_link_to_an_image_a_catalog_or_nowhere_is_refused",
        ),
    ),
    "tag files": _attack(
        "FIFOs, devices and folders in place of files of tags and sidecars",
        "hangs, memory",
        *_untrusted(
            "test_what_is_not_a_regular_file_is_neither_read_nor_written",
            "test_a_file_exchanged_for_another_kind_before_its_write_is_not_read",
        ),
    ),
    "journals": _attack(
        "journals that name images, catalogs, hidden files, links or `/`, unpack to 5 GB, or have flipped bits",
        "an image was overwritten, 8.3 GB",
        *_untrusted(
            "test_undo_never_changes_an_image_or_a_catalog",
            "test_undo_stays_inside_the_collection",
            "test_undo_never_changes_hidden_files",
            "test_the_root_of_the_file_system_is_no_collection",
            "test_a_journal_that_unpacks_to_much_is_refused",
            "test_a_journal_that_is_a_pipe_or_one_endless_line_is_refused",
            "test_a_line_of_a_journal_that_is_none_is_named",
            "test_a_flipped_bit_in_a_journal_is_found",
        ),
    ),
    "computed catalogs": _attack(
        "catalogs with generated columns, views, virtual tables and logs that are devices",
        "longer than 80 s, memory",
        *_untrusted(
            "test_generated_columns_of_a_catalog_are_not_computed",
            "test_virtual_tables_and_views_of_a_catalog_are_not_read",
            "test_a_log_of_a_catalog_that_is_a_device_is_not_copied",
        ),
    ),
    "Ray workers": _attack(
        "workers, nodes and the driver of a Ray cluster killed in a round and between rounds",
        "",
        *(
            f"run/ray/test_pool.py::{name}"
            for name in (
                "test_a_lost_worker_does_not_change_a_byte",
                "test_other_workers_take_the_tasks_and_shards_of_a_lost_one",
                "test_workers_lost_between_rounds_do_not_change_the_model",
                "test_pairs_read_by_workers_give_equal_bytes_when_one_is_lost",
                "test_a_killed_driver_goes_on_with_another_number_of_workers",
                "test_a_node_killed_in_a_round_costs_the_round_and_not_a_byte",
            )
        ),
    ),
    "long labels": _attack(
        "labels of a megabyte, tags inside tags, repeated labels",
        "accepted",
        *_untrusted(
            "test_a_label_of_more_than_a_thousand_characters_is_refused_by_every_reader",
            "test_a_long_label_of_a_catalog_or_a_folder_is_refused",
            "test_names_of_tags_inside_tags_do_not_multiply",
            "test_labels_have_a_limit_together",
        ),
    ),
}
