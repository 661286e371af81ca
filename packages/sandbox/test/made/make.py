"""
Makes the documents beside it, and `known.json`: what each of them holds.

    python3 make.py      # python-docx 0.8.11, openpyxl 3.0.9, reportlab 3.6.12, LibreOffice 7.4, pandoc 2.17, Chromium

`tables` are columns and rows in the order of the document; `order` are texts that follow each other in reading order;
`notes` are patterns of what has to be said because it is uncertain. A document with no entry `notes` has none.
"""

import datetime
import json
import pathlib
import subprocess
import tempfile

import docx
import openpyxl
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen import canvas
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Spacer, Table

here = pathlib.Path(__file__).parent
work = pathlib.Path(tempfile.mkdtemp())
known = {}
unruled = ["no lines"]

invoice = [
    ["Item", "Qty", "Price"],
    ["Pen", "3", "1.50"],
    ["Paper A4 white", "10", "4.99"],
    ["Ink", "", "12.00"],
    ["Total", "", "18.49"],
]
people = [
    ["Name", "Town", "Since"],
    ["Anna Berg", "Goslar", "2019"],
    ["Ole Brandt", "Bad Harzburg", "2021"],
    ["Mia Thal", "Seesen", "2024"],
]
left = [f"Left column line {n} about the harbour and its many boats" for n in range(1, 13)]
right = [f"Right column line {n} about the forest and its old trees" for n in range(1, 13)]


def table(rows):
    return {"columns": rows[0], "rows": [[cell if cell != "" else None for cell in row] for row in rows[1:]]}


def know(name, tables=(), order=(), notes=()):
    known[name] = {
        "tables": [one if isinstance(one, dict) else table(one) for one in tables],
        "order": list(order),
        **({"notes": list(notes)} if notes else {}),
    }


def to_pdf(source, name, kind="pdf"):
    subprocess.run(["soffice", "--headless", "--convert-to", kind, "--outdir", work, source], check=True, capture_output=True)
    (work / (pathlib.Path(source).stem + "." + kind.split(":")[0])).rename(here / name)


def chromium(html, name):
    source = work / "page.html"
    source.write_text(f"<!doctype html><meta charset=utf-8><style>body{{font:12px sans-serif}}</style>{html}")
    subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={here / name}", source.as_uri()],
        check=True,
        capture_output=True,
    )


def word_table(document, rows, style="Table Grid"):
    made = document.add_table(rows=len(rows), cols=len(rows[0]))
    made.style = style
    for y, row in enumerate(rows):
        for x, text in enumerate(row):
            made.cell(y, x).text = text
    return made


def two_columns(document):
    columns = document.sections[-1]._sectPr.find(qn("w:cols"))
    if columns is None:
        columns = OxmlElement("w:cols")
        document.sections[-1]._sectPr.append(columns)
    columns.set(qn("w:num"), "2")


# python-docx

document = docx.Document()
spanned = document.add_table(rows=2, cols=3)
for row in range(2):
    for column in range(3):
        spanned.cell(row, column).text = f"r{row}c{column}"
spanned.cell(0, 0).merge(spanned.cell(0, 1))
document.sections[0].header.paragraphs[0].text = "The head"
document.sections[0].footer.paragraphs[0].text = "The foot"
document.save(here / "spans.docx")
know("spans.docx", [[["r0c0\nr0c1", "column_2", "r0c2"], ["r1c0", "r1c1", "r1c2"]]], ["r1c2", "The head", "The foot"])

document = docx.Document()
document.add_heading("Invoice 17", 1)
document.add_paragraph("To the Harz Library")
word_table(document, invoice)
document.add_paragraph("Payable within 14 days")
document.save(here / "invoice.docx")
know("invoice.docx", [invoice], ["# Invoice 17", "To the Harz Library", "Paper A4 white", "Payable within 14 days"])
to_pdf(here / "invoice.docx", "invoice-libreoffice.pdf")
know("invoice-libreoffice.pdf", [invoice], ["Invoice 17", "To the Harz Library", "Paper A4 white", "Payable within 14 days"])

document = docx.Document()
rows = [["Region", "Town", "Sales"], ["North", "Kiel", "10"], ["", "Lübeck", "20"], ["South", "Ulm", "30"]]
made = word_table(document, rows)
made.cell(1, 0).merge(made.cell(2, 0))
made.cell(1, 0).text = "North"
document.save(here / "down.docx")
know("down.docx", [rows])
to_pdf(here / "down.docx", "down-libreoffice.pdf")
know("down-libreoffice.pdf", [rows])

document = docx.Document()
made = word_table(document, [["", "First half", "", "Second half", ""], ["Team", "Plan", "Done", "Plan", "Done"], ["A", "1", "2", "3", "4"], ["B", "5", "6", "7", "8"]])
made.cell(0, 1).merge(made.cell(0, 2)).text = "First half"
made.cell(0, 3).merge(made.cell(0, 4)).text = "Second half"
document.save(here / "heads.docx")
heads = {
    "columns": ["column_1", "First half", "column_3", "Second half", "column_5"],
    "rows": [["Team", "Plan", "Done", "Plan", "Done"], ["A", "1", "2", "3", "4"], ["B", "5", "6", "7", "8"]],
}
know("heads.docx", [heads])
to_pdf(here / "heads.docx", "heads-libreoffice.pdf")
know("heads-libreoffice.pdf", [heads])

document = docx.Document()
outer = word_table(document, [["What", "Detail"], ["Box", ""]])
inner = outer.cell(1, 1).add_table(rows=2, cols=2)
for y in range(2):
    for x in range(2):
        inner.cell(y, x).text = f"i{y}{x}"
document.save(here / "nested.docx")
know("nested.docx", [{"columns": ["What", "Detail"], "rows": [["Box", "i00 | i01\ni10 | i11"]]}])

document = docx.Document()
document.add_paragraph("Above both columns")
document.add_section(docx.enum.section.WD_SECTION.CONTINUOUS)
two_columns(document)
for line in left + right:
    document.add_paragraph(line).paragraph_format.space_after = 0
document.save(here / "columns.docx")
know("columns.docx", [], ["Above both columns", left[0], left[11], right[0], right[11]])
to_pdf(here / "columns.docx", "columns-libreoffice.pdf")
know("columns-libreoffice.pdf", [], ["Above both columns", "Left column line 1 ", "Left column line 2 ", "Left column line 12", "Right column line 1 ", "Right column line 12"], ["2 columns of text"])

document = docx.Document()
document.sections[0].header.paragraphs[0].text = "Harz Tools, confidential"
document.sections[0].footer.paragraphs[0].text = "Page foot"
document.add_paragraph("The body of the letter")
document.save(here / "letter.docx")
know("letter.docx", [], ["The body of the letter", "Harz Tools, confidential", "Page foot"])
to_pdf(here / "letter.docx", "letter-libreoffice.pdf")
know("letter-libreoffice.pdf", [], ["Harz Tools, confidential", "The body of the letter", "Page foot"])

# openpyxl

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "Hours"
sheet.append(["what", "value"])
sheet.append(["duration", datetime.timedelta(hours=30, minutes=5)])
sheet["B2"].number_format = "[h]:mm:ss"
sheet.append(["time", datetime.time(13, 45)])
sheet.append(["date", datetime.date(2026, 1, 5)])
sheet.append(["formula", "=1+1"])
hidden = book.create_sheet("Secret")
hidden.append(["a"])
hidden.append(["b"])
hidden.sheet_state = "hidden"
book.save(here / "hours.xlsx")
know(
    "hours.xlsx",
    [
        {"columns": ["what", "value"], "rows": [["duration", "30:05:00"], ["time", "13:45:00"], ["date", "2026-01-05"], ["formula", "=1+1"]]},
        {"columns": ["a"], "rows": [["b"]]},
    ],
    notes=["Hours.*B5.*formula"],
)

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "Sums"
for row in [["Item", "Price", "Double"], ["Pen", 1.5, "=B2*2"], ["Ink", 12, "=B3*2"], ["Paper", 4.99, "=B4*2"]]:
    sheet.append(row)
book.save(here / "formulas.xlsx")
know("formulas.xlsx", [{"columns": ["Item", "Price", "Double"], "rows": [["Pen", 1.5, "=B2*2"], ["Ink", 12, "=B3*2"], ["Paper", 4.99, "=B4*2"]]}], notes=["Sums.*C2.*3 formulas"])
to_pdf(here / "formulas.xlsx", "formulas-libreoffice.xlsx", "xlsx:Calc MS Excel 2007 XML")
know("formulas-libreoffice.xlsx", [{"columns": ["Item", "Price", "Double"], "rows": [["Pen", 1.5, 3], ["Ink", 12, 24], ["Paper", 4.99, 9.98]]}])
to_pdf(here / "formulas.xlsx", "formulas-libreoffice.pdf")
know("formulas-libreoffice.pdf", [[["Item", "Price", "Double"], ["Pen", "1.5", "3"], ["Ink", "12", "24"], ["Paper", "4.99", "9.98"]]], notes=unruled)

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "Digits"
sheet.append(["code", "number"])
sheet.append(["00123", 12345678901234567890])
sheet.append(["9007199254740993", 42])
book.save(here / "digits.xlsx")
# openpyxl itself writes 1.234567890123457e+19.
know("digits.xlsx", [{"columns": ["code", "number"], "rows": [["00123", 12345678901234570000], ["9007199254740993", 42]]}], notes=["Digits!B2.*15 digits"])

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "Report"
sheet.append(["Report of sales 2026"])
sheet.append([])
sheet.append(["Month", "Orders", "Total", "Open"])
sheet.append(["Jan", 3, 10.5, 1])
sheet.append(["Feb", 4, 20.25, 0])
sheet.merge_cells("A1:D1")
book.save(here / "title.xlsx")
know("title.xlsx", [{"columns": ["Month", "Orders", "Total", "Open"], "rows": [["Jan", 3, 10.5, 1], ["Feb", 4, 20.25, 0]]}], notes=["Report.*Report of sales 2026"])

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "Merged"
for row in [["Region", "Town", "Sales"], ["North", "Kiel", 10], [None, "Lübeck", 20], ["South", "Ulm", 30]]:
    sheet.append(row)
sheet.merge_cells("A2:A3")
book.save(here / "merged.xlsx")
know("merged.xlsx", [{"columns": ["Region", "Town", "Sales"], "rows": [["North", "Kiel", 10], [None, "Lübeck", 20], ["South", "Ulm", 30]]}], notes=["Merged.*A2:A3"])

book = openpyxl.Workbook()
sheet = book.active
sheet.title = "Formats"
sheet.append(["Share", "Price", "Due", "At"])
for share, price, day in [(0.19, 1234.5, 5), (0.07, 99.9, 6)]:
    sheet.append([share, price, datetime.date(2026, 1, day), datetime.datetime(2026, 1, day, 8, 30)])
for row in (2, 3):
    sheet.cell(row, 1).number_format = "0%"
    sheet.cell(row, 2).number_format = '#,##0.00 "EUR"'
book.save(here / "formats.xlsx")
know(
    "formats.xlsx",
    [{"columns": ["Share", "Price", "Due", "At"], "rows": [[0.19, 1234.5, "2026-01-05", "2026-01-05T08:30:00"], [0.07, 99.9, "2026-01-06", "2026-01-06T08:30:00"]]}],
    notes=["Formats.*Share.*0%", 'Formats.*Price.*EUR'],
)

# reportlab

styles = getSampleStyleSheet()
grid = [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]


def paper(name, *parts):
    SimpleDocTemplate(str(here / name), pagesize=A4, invariant=1).build(list(parts))


def text(words, style="Normal"):
    return Paragraph(words, styles[style])


paper("invoice-reportlab.pdf", text("Invoice 17", "Title"), Table(invoice, style=grid), Spacer(1, 20), text("Payable within 14 days"))
know("invoice-reportlab.pdf", [invoice], ["Invoice 17", "Paper A4 white", "Payable within 14 days"])

paper("plain-reportlab.pdf", text("People"), Spacer(1, 20), Table(people), Spacer(1, 20), text("End of list"))
know("plain-reportlab.pdf", [people], ["People", "Anna Berg", "Mia Thal", "End of list"], unruled)

paper("holes-reportlab.pdf", text("Stock"), Spacer(1, 20), Table(invoice, colWidths=[150, 60, 80]))
know("holes-reportlab.pdf", [invoice], ["Stock", "Pen", "Total"], unruled)

rules = [("LINEABOVE", (0, 0), (-1, 0), 1, colors.black), ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black), ("LINEBELOW", (0, -1), (-1, -1), 1, colors.black)]
paper("rules-reportlab.pdf", text("People"), Spacer(1, 20), Table(people, style=rules), Spacer(1, 20), text("End of list"))
know("rules-reportlab.pdf", [people], ["People", "Anna Berg", "End of list"], unruled)

wrapped = [
    ["Clause", "Text"],
    ["1", text("The supplier delivers within ten days of the order unless both sides agree on another day in writing")],
    ["2", text("Payment is due fourteen days after delivery")],
]
paper("wrapped-reportlab.pdf", Table(wrapped, colWidths=[50, 150], style=grid))
know("wrapped-reportlab.pdf", [{"columns": ["Clause", "Text"], "rows": [["1", "The supplier delivers within ten\ndays of the order unless both\nsides agree on another day in\nwriting"], ["2", "Payment is due fourteen days\nafter delivery"]]}])

spanning = [["Region", "Town", "Sales"], ["North", "Kiel", "10"], ["", "Lübeck", "20"], ["Total", "", "30"]]
paper("spans-reportlab.pdf", Table(spanning, style=[*grid, ("SPAN", (0, 1), (0, 2)), ("SPAN", (0, 3), (1, 3))]))
know("spans-reportlab.pdf", [spanning])

long = [["No", "Name", "Sum"]] + [[str(n), f"Customer {n}", f"{n}.50"] for n in range(1, 61)]
paper("long-reportlab.pdf", Table(long, style=grid, repeatRows=1))
# Thirty-seven rows fit on the first page; the second repeats the header.
know("long-reportlab.pdf", [long[:38], [long[0], *long[38:]]])

paper("two-tables-reportlab.pdf", text("First"), Table(invoice, style=grid), Spacer(1, 20), text("Second"), Table(people, style=grid), PageBreak(), text("Third"), Table(people, style=grid))
know("two-tables-reportlab.pdf", [invoice, people, people], ["First", "Paper A4 white", "Second", "Ole Brandt", "Third"])


def page(name, draw):
    sheet = canvas.Canvas(str(here / name), pagesize=A4, invariant=1)
    sheet.setFont("Helvetica", 9)
    draw(sheet)
    sheet.showPage()
    sheet.save()


def in_columns(*columns):
    def draw(sheet):
        sheet.drawString(60, 780, "A title that goes over the columns of the page")
        width = 480 / len(columns)
        for n, column in enumerate(columns):
            for line, words in enumerate(column):
                sheet.drawString(60 + n * width, 740 - 14 * line, words)
    return draw


# Rows of two columns, drawn side by side, as a program that prints line by line does.
def across(sheet):
    for line, (a, b) in enumerate(zip(left, right)):
        sheet.drawString(60, 740 - 14 * line, a)
        sheet.drawString(320, 740 - 14 * line, b)


page("columns-reportlab.pdf", in_columns(left, right))
know("columns-reportlab.pdf", [], ["A title that goes over", left[0], left[11], right[0], right[11]], ["2 columns of text"])
page("across-reportlab.pdf", across)
know("across-reportlab.pdf", [], [left[0], left[11], right[0], right[11]], ["2 columns of text"])
thirds = [[f"{word} {n} of the news tells it all" for n in range(1, 11)] for word in ("Alpha", "Bravo", "Charlie")]
page("thirds-reportlab.pdf", in_columns(*thirds))
know("thirds-reportlab.pdf", [], ["A title", thirds[0][0], thirds[0][9], thirds[1][0], thirds[1][9], thirds[2][0], thirds[2][9]], ["3 columns of text"])


def addresses(sheet):
    for line, (a, b) in enumerate([("Harz Tools GmbH", "Goslar, 5 May 2026"), ("Markt 1", "Customer 4711"), ("38640 Goslar", "Offer 17")]):
        sheet.drawString(60, 780 - 14 * line, a)
        sheet.drawString(400, 780 - 14 * line, b)
    sheet.drawString(60, 700, "Dear Anna, this is the offer that you asked for.")


page("addresses-reportlab.pdf", addresses)
know("addresses-reportlab.pdf", [{"columns": ["Harz Tools GmbH", "Goslar, 5 May 2026"], "rows": [["Markt 1", "Customer 4711"], ["38640 Goslar", "Offer 17"]]}], ["Harz Tools GmbH", "38640 Goslar", "Dear Anna"], unruled)

# Chromium


def html_table(rows, style="border='1' style='border-collapse:collapse'"):
    return f"<table {style}>" + "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows) + "</table>"


chromium(f"<h1>Invoice 17</h1><p>To the Harz Library</p>{html_table(invoice)}<p>Payable within 14 days</p>", "invoice-chromium.pdf")
know("invoice-chromium.pdf", [invoice], ["Invoice 17", "To the Harz Library", "Paper A4 white", "Payable within 14 days"])

chromium(f"<h1>People</h1>{html_table(people, 'cellpadding=6')}<p>End of list", "plain-chromium.pdf")
know("plain-chromium.pdf", [people], ["People", "Anna Berg", "End of list"], unruled)

chromium("<h1>Both columns</h1><div style='columns:2;column-gap:40px'>" + "".join(f"<p style='margin:0'>{line}</p>" for line in left + right) + "</div>", "columns-chromium.pdf")
know("columns-chromium.pdf", [], ["Both columns", left[0], "Left column line 12 ", right[0], "Right column line 12 "], ["2 columns of text"])

chromium(
    "<table border=1 style='border-collapse:collapse'><tr><td>Region<td>Town<td>Sales<tr><td rowspan=2>North<td>Kiel<td>10<tr><td>Lübeck<td>20<tr><td colspan=2>Total<td>30</table>",
    "spans-chromium.pdf",
)
know("spans-chromium.pdf", [spanning])

zebra = "".join(f"<tr style='background:{'#ddd' if n % 2 else '#fff'}'>" + "".join(f"<td style='padding:6px 20px'>{cell}" for cell in row) for n, row in enumerate(people))
chromium(f"<h1>People</h1><table style='border-collapse:collapse'>{zebra}</table><p>End of list", "zebra-chromium.pdf")
know("zebra-chromium.pdf", [people], ["People", "Anna Berg", "End of list"], unruled)

# pandoc


def pandoc(markdown, name):
    subprocess.run(["pandoc", "-f", "markdown", "-o", here / name], input=markdown.encode(), check=True)


def pipes(rows):
    return "\n".join(["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0]), *("| " + " | ".join(row) + " |" for row in rows[1:])]) + "\n"


pandoc(f"# Invoice 17\n\nTo the Harz Library\n\n{pipes(invoice)}\nPayable within 14 days\n", "invoice-pandoc.docx")
know("invoice-pandoc.docx", [invoice], ["# Invoice 17", "To the Harz Library", "Paper A4 white", "Payable within 14 days"])
pandoc("# One\n\nText with a note.[^1]\n\n## Two\n\n- first point\n- second point\n\n[^1]: The note itself.\n", "notes-pandoc.docx")
know("notes-pandoc.docx", [], ["# One", "Text with a note.", "## Two", "first point", "second point", "The note itself."])
pandoc(f"{pipes(people)}\nBetween\n\n{pipes(invoice)}", "two-tables-pandoc.docx")
know("two-tables-pandoc.docx", [people, invoice], ["Ole Brandt", "Between", "Paper A4 white"])
to_pdf(here / "two-tables-pandoc.docx", "two-tables-pandoc.pdf")
know("two-tables-pandoc.pdf", [people, invoice], ["Ole Brandt", "Between", "Paper A4 white"], unruled)
pandoc(f"# Slide one\n\n- a point\n\n# Slide two\n\n{pipes(people)}", "slides-pandoc.pptx")
know("slides-pandoc.pptx", [people], ["Slide one", "a point", "Slide two", "Ole Brandt"])

(here / "known.json").write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n")
print(len(known), "documents")
