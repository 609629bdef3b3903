"""HTML reports: pages, tables and charts in one self-contained file."""

from vse_ens.report.charts import BarChart as BarChart
from vse_ens.report.charts import Bars as Bars
from vse_ens.report.charts import LineChart as LineChart
from vse_ens.report.charts import Series as Series
from vse_ens.report.html import Block as Block
from vse_ens.report.html import Bullets as Bullets
from vse_ens.report.html import Code as Code
from vse_ens.report.html import Details as Details
from vse_ens.report.html import Facts as Facts
from vse_ens.report.html import Note as Note
from vse_ens.report.html import Page as Page
from vse_ens.report.html import Paragraph as Paragraph
from vse_ens.report.html import Section as Section
from vse_ens.report.tables import Cell as Cell
from vse_ens.report.tables import Column as Column
from vse_ens.report.tables import Table as Table
