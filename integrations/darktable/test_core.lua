-- Tests of vse_ens/core.lua: lua test_core.lua, in this folder.

local core = require "vse_ens/core"

local function equal(found, wanted, what)
  if found ~= wanted then
    error(("%s: %s instead of %s"):format(what, tostring(found), tostring(wanted)), 2)
  end
end

equal(core.quoted("it's"), [['it'\''s']], "quotes")
equal(core.image_id("/p", "/p/a", "b.jpg"), "a/b.jpg", "an image below the folder")
equal(core.image_id("/p/", "/p", "b.jpg"), "b.jpg", "an image in the folder")
equal(core.image_id("/p", "/pq", "b.jpg"), nil, "an image elsewhere")
equal(core.image_id("/p.a", "/p-a", "b.jpg"), nil, "a dot of a folder stands for itself")
equal(core.json_list { 'a"b\\', "ü\n" }, '["a\\"b\\\\","ü\\u000a"]', "strings as JSON")

local settings = { program = "vse", model = "m", server = "", top = 3 }
equal(
  core.command(settings, { "a b.jpg", "-c.jpg" }, "o", "e"),
  [['vse' 'annotate' '--json' '--top' '3' '--' 'm' 'a b.jpg' '-c.jpg' > 'o' 2> 'e']],
  "the command"
)
settings.server = "http://h:1/"
local asked = core.command(settings, { "it's" }, "o", "e")
equal(asked:find([['{"images":["it'\''s"],"top":3}' 'http://h:1/api/annotate' > 'o']], 1, true) ~= nil, true, asked)

local value = core.decoded [[ {"a": [1, -2.5e-3, true, null], "b": {}, "c": [], "d": "\"\\\u00fc\ud83d\ude00\n"} ]]
equal(value.a[2], -2.5e-3, "a number")
equal(value.a[3], true, "a boolean")
equal(next(value.b), nil, "an empty object")
equal(#value.c, 0, "an empty list")
equal(value.d, '"\\ü😀\n', "escapes")
equal(core.decoded([["\\u00e9"]]), [[\u00e9]], "an escaped backslash")
for _, text in ipairs { "", "{", '{"a" 1}', "[1,", '"a', "nil", "[] []" } do
  local read, message = pcall(core.decoded, text)
  equal(read, false, text)
  equal(message:find("no JSON", 1, true), 1, message)
end

local answers = {
  { image = "a", suggestions = { { label = "sea", score = 1, confidence = 0.5 }, { label = "dog", score = 3 } } },
  { image = "b", suggestions = { { label = "sea", score = 2, confidence = 0.9 }, { label = "darktable|x", score = 9 } } },
}
local ids = { "a", "x/b" } -- vse finds an image by its file name too
local rows = core.rows(answers, ids, { a = {}, ["x/b"] = {} }, 12)
equal(#rows, 2, "rows")
equal(core.shown(rows[1], 2), "sea, 90 %, 2 of 2 images", "the surest first")
equal(rows[1].images[2], "x/b", "IDs of darktable")
equal(core.shown(rows[2], 1), "dog", "without a confidence")
equal(#core.rows(answers, ids, { a = { sea = true }, ["x/b"] = { sea = true } }, 12), 1, "tags that an image has by now")
equal(#core.rows(answers, ids, {}, 1), 1, "at most")

equal(core.answers('[{"image": "a", "suggestions": []}]', "")[1].image, "a", "vse annotate")
equal(core.answers('{"model": "m", "results": [{"image": "a"}]}', "")[1].image, "a", "vse serve")
local function message(out, err) return select(2, core.answers(out, err)) end
equal(message('{"error": "unknown image"}', ""), "unknown image", "an error of vse serve")
equal(message("", "note: x\nError: no model\n"), "no model", "an error of vse annotate")
equal(message("", ""), "no answer", "nothing at all")
