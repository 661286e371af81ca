"""Makes the files beside it with openpyxl 3.0.9 and python-docx 0.8.11: python3 make.py"""

import datetime

import docx
import openpyxl

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
book.save("hours.xlsx")

document = docx.Document()
table = document.add_table(rows=2, cols=3)
for row in range(2):
    for column in range(3):
        table.cell(row, column).text = f"r{row}c{column}"
table.cell(0, 0).merge(table.cell(0, 1))
document.sections[0].header.paragraphs[0].text = "The head"
document.sections[0].footer.paragraphs[0].text = "The foot"
document.save("spans.docx")
