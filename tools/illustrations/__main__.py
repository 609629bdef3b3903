"""Write the sheet of drawings into the package."""

from tools.illustrations.sheet import PATH, sheet

PATH.write_text(sheet(), encoding="utf-8")
