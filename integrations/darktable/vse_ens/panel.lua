--[[
Suggests tags for the selected images with a model of vse-ens, and adds those that you choose.

Copy the folder vse_ens to ~/.config/darktable/lua and add this line to ~/.config/darktable/luarc:
  require "vse_ens/panel"
README.md next to it explains the settings.
]]

local dt = require "darktable"
local core = require "vse_ens/core"

local NAME = "vse_ens"
local MOST = 12 -- rows of the panel

local panel = { rows = {}, boxes = {}, message = "" }

local PREFERENCES = {
  { "program", "file", "program vse", "The command vse, such as ~/venv/bin/vse. Not needed with a server.", "vse" },
  { "model", "directory", "model", "The folder that vse train wrote. Not needed with a server.", "" },
  { "root", "directory", "folder of the pictures", "The folder that the model was trained on.", "" },
  { "server", "string", "server", "Address of a running vse serve, such as http://127.0.0.1:8000; faster.", "" },
}
for _, preference in ipairs(PREFERENCES) do
  local name, kind, label, tooltip, default = table.unpack(preference)
  dt.preferences.register(NAME, name, kind, "vse-ens: " .. label, tooltip, default)
end
dt.preferences.register(NAME, "top", "integer", "vse-ens: suggestions per image", "At most.", 5, 1, MOST)

local function options()
  local values = { top = dt.preferences.read(NAME, "top", "integer") }
  for _, preference in ipairs(PREFERENCES) do
    values[preference[1]] = dt.preferences.read(NAME, preference[1], preference[2])
  end
  return values
end

local status = dt.new_widget("label") { label = "", halign = "start", ellipsize = "end" }

local function say(message)
  panel.message = message
  status.label = message
  status.tooltip = message
end

local function show(rows, selected)
  panel.rows = rows
  for i, box in ipairs(panel.boxes) do
    box.value = false
    box.visible = rows[i] ~= nil
    if rows[i] then box.label = core.shown(rows[i], selected) end
  end
end

local function read_and_remove(path)
  local file = io.open(path, "rb")
  local text = file and file:read("a") or ""
  if file then file:close() end
  os.remove(path)
  return text
end

local function tags_of(image)
  local set = {}
  for _, tag in ipairs(dt.tags.get_tags(image)) do set[tag.name] = true end
  return set
end

--- Suggest tags for the selected images.
function panel.suggest()
  local settings = options()
  show({}, 0)
  if settings.server == "" and settings.model == "" then
    return say("choose a model or a server in the preferences, lua options")
  end
  if settings.root == "" then return say("choose the folder of the pictures in the preferences, lua options") end
  local ids, tags, outside = {}, {}, 0
  panel.images = {}
  for _, image in ipairs(dt.gui.selection()) do
    local id = core.image_id(settings.root, image.path, image.filename)
    if not id then
      outside = outside + 1
    elseif not tags[id] then
      ids[#ids + 1] = id
      tags[id] = tags_of(image)
      panel.images[id] = {}
    end
    if id then table.insert(panel.images[id], image) end -- duplicates of an image share its ID
  end
  if #ids == 0 then
    local where = outside > 0 and " below " .. settings.root .. " (preferences, lua options)" or ""
    return say("select images" .. where)
  end
  say(("asking about %d images ..."):format(#ids))
  local out, err = os.tmpname(), os.tmpname()
  dt.control.execute(core.command(settings, ids, out, err))
  local answers, message = core.answers(read_and_remove(out), read_and_remove(err))
  if not answers then return say(message) end
  show(core.rows(answers, ids, tags, MOST), #ids)
  local skipped = outside > 0 and (", %d outside %s left out"):format(outside, settings.root) or ""
  say((#panel.rows == 0 and "nothing to suggest" or ("%d suggestions"):format(#panel.rows)) .. skipped)
end

--- Add the chosen tags to the images they were suggested for.
function panel.add()
  local tags, images = 0, {}
  for i, row in ipairs(panel.rows) do
    if panel.boxes[i].value then
      local tag = dt.tags.create(row.label)
      for _, id in ipairs(row.images) do
        for _, image in ipairs(panel.images[id]) do dt.tags.attach(tag, image) end
        images[id] = true
      end
      tags = tags + 1
    end
  end
  if tags == 0 then return say("choose suggestions first") end
  local count = 0
  for _ in pairs(images) do count = count + 1 end
  show({}, 0)
  say(("%d tags added to %d images"):format(tags, count))
end

--- Run `action` so that an error is a message of the panel.
local function guarded(action)
  return function()
    local ok, message = pcall(action)
    if not ok then say(tostring(message)) end
  end
end

local widgets = {
  orientation = "vertical",
  dt.new_widget("button") { label = "suggest tags", clicked_callback = guarded(panel.suggest) },
}
for i = 1, MOST do
  panel.boxes[i] = dt.new_widget("check_button") { label = "", visible = false }
  widgets[#widgets + 1] = panel.boxes[i]
end
widgets[#widgets + 1] = dt.new_widget("button") { label = "add chosen tags", clicked_callback = guarded(panel.add) }
widgets[#widgets + 1] = status

local function register()
  if panel.registered then return end
  panel.registered = true
  local place = { [dt.gui.views.lighttable] = { "DT_UI_CONTAINER_PANEL_RIGHT_CENTER", 100 } }
  dt.register_lib(NAME, "suggest tags (vse-ens)", true, false, place, dt.new_widget("box")(widgets))
end

if dt.gui.current_view().id == "lighttable" then
  register()
else
  dt.register_event(NAME, "view-changed", function(_, _, new) if new.id == "lighttable" then register() end end)
end

return panel
