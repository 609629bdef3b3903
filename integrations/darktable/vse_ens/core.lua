-- The parts of the panel that need no darktable: commands, answers, and rows of suggestions. `lua` runs them alone, for tests.

local core = {}

-- Tags of darktable's own, such as darktable|format|jpg, are never suggested or added.
core.OWN = "darktable|"

--- Return `text` as one word of a POSIX shell.
function core.quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

--- Return the ID of an image: its path below `root`; nil if it is elsewhere.
function core.image_id(root, folder, file)
  root = root:gsub("/+$", "") .. "/"
  local path = folder:gsub("/+$", "") .. "/" .. file
  if path:sub(1, #root) ~= root then return nil end
  return path:sub(#root + 1)
end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\" }

--- Return a list of strings as JSON.
function core.json_list(strings)
  local parts = {}
  for i, text in ipairs(strings) do
    parts[i] = '"' .. text:gsub('[%c"\\]', function(c) return ESCAPES[c] or ("\\u%04x"):format(c:byte()) end) .. '"'
  end
  return "[" .. table.concat(parts, ",") .. "]"
end

--- Return the command that writes suggestions as JSON to `out`, and messages to `err`.
-- With `options.server` they come from a running `vse serve`; otherwise from `vse annotate`.
function core.command(options, ids, out, err)
  local words
  if options.server ~= "" then
    local body = ('{"images":%s,"top":%d}'):format(core.json_list(ids), options.top)
    words = {
      "curl", "--silent", "--show-error", "--header", "Content-Type: application/json", "--data", body,
      options.server:gsub("/+$", "") .. "/api/annotate",
    }
  else
    words = { options.program, "annotate", "--json", "--top", tostring(options.top), "--", options.model }
    table.move(ids, 1, #ids, #words + 1, words)
  end
  for i, word in ipairs(words) do words[i] = core.quoted(word) end
  return ("%s > %s 2> %s"):format(table.concat(words, " "), core.quoted(out), core.quoted(err))
end

local NAMED = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function unescaped(text)
  text = text:gsub("\\u([dD][89abAB]%x%x)\\u([dD][c-fC-F]%x%x)", function(high, low)
    return utf8.char(0x10000 + ((tonumber(high, 16) & 0x3ff) << 10) + (tonumber(low, 16) & 0x3ff))
  end)
  text = text:gsub("\\(.)(%x?%x?%x?%x?)", function(kind, digits)
    if kind == "u" then return utf8.char(tonumber(digits, 16)) end
    return (NAMED[kind] or kind) .. digits
  end)
  return text
end

--- Return the value of a JSON document; raise a message if it is none.
function core.decoded(text)
  local at = 1
  local value

  local function skip() at = text:find("%S", at) or #text + 1 end

  local function expect(char)
    skip()
    if text:sub(at, at) ~= char then error(("no JSON at byte %d: expected %s"):format(at, char), 0) end
    at = at + 1
  end

  local function string_value()
    expect('"')
    local start = at
    while true do
      at = text:find('["\\]', at) or error("no JSON: the text ends in a string", 0)
      if text:sub(at, at) == '"' then break end
      at = at + 2
    end
    at = at + 1
    return unescaped(text:sub(start, at - 2))
  end

  local function members(close, read)
    at = at + 1
    skip()
    if text:sub(at, at) == close then at = at + 1 return end
    while true do
      read()
      skip()
      if text:sub(at, at) == close then at = at + 1 return end
      expect(",")
      skip()
    end
  end

  function value()
    skip()
    local first = text:sub(at, at)
    local result = {}
    if first == '"' then return string_value() end
    if first == "[" then
      members("]", function() result[#result + 1] = value() end)
      return result
    end
    if first == "{" then
      members("}", function()
        local key = string_value()
        expect(":")
        result[key] = value()
      end)
      return result
    end
    local word = text:match("^[%w%+%-%.]+", at) or error(("no JSON at byte %d"):format(at), 0)
    at = at + #word
    if word == "true" then return true elseif word == "false" then return false elseif word == "null" then return nil end
    return tonumber(word) or error(("no JSON at byte %d: %s"):format(at, word), 0)
  end

  local result = value()
  skip()
  if at <= #text then error(("no JSON: more text at byte %d"):format(at), 0) end
  return result
end

--- Return one row per suggested label, surest first: its label, best confidence, and the IDs of the images to add it to.
-- Answers are in the order of `ids`. `tags[id]` is the set of tags that an image has in darktable now; the model may be older.
function core.rows(answers, ids, tags, most)
  local rows, of = {}, {}
  for i, answer in ipairs(answers) do
    local id = ids[i]
    for _, found in ipairs(answer.suggestions) do
      local has = tags[id] and tags[id][found.label]
      if not has and found.label:sub(1, #core.OWN) ~= core.OWN then
        local row = of[found.label]
        if not row then
          row = { label = found.label, confidence = 0, score = found.score, images = {} }
          of[found.label] = row
          rows[#rows + 1] = row
        end
        row.confidence = math.max(row.confidence, found.confidence or 0)
        row.score = math.max(row.score, found.score)
        row.images[#row.images + 1] = id
      end
    end
  end
  table.sort(rows, function(a, b)
    if a.confidence ~= b.confidence then return a.confidence > b.confidence end
    if a.score ~= b.score then return a.score > b.score end
    return a.label < b.label
  end)
  for i = #rows, most + 1, -1 do rows[i] = nil end
  return rows
end

--- Return what the panel shows for a row, such as "place|beach, 84 %, 3 of 5 images".
function core.shown(row, selected)
  local text = row.label
  if row.confidence > 0 then text = text .. (", %.0f %%"):format(100 * row.confidence) end
  if selected > 1 then text = text .. (", %d of %d images"):format(#row.images, selected) end
  return text
end

--- Return the answers for images, or nil and a message, from what a command wrote to its two files.
function core.answers(out, err)
  local read, document = pcall(core.decoded, out)
  if read and type(document) == "table" and not document.error then return document.results or document end
  if read and type(document) == "table" then return nil, document.error end
  local last = err:match("([^\n]+)%s*$")
  return nil, last and last:gsub("^%s*[Ee]rror:%s*", "") or "no answer"
end

return core
