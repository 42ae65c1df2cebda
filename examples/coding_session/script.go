package main

import "github.com/tiercompact/tiercompact/chat"

// A turn is a text of a role, or a call of the assistant.
type turn struct {
	role                  chat.Role
	tool, path, text, new string
}

func textTurn(role chat.Role, text string) turn { return turn{role: role, text: text} }

// sessionScript is the session: the user's requests, and the actions of a model.
func sessionScript() []turn {
	return []turn{
		textTurn(chat.System, "You are a coding assistant in /code/meters. Read before you edit, and run the tests after each edit. recall finds what no longer stands here."),
		textTurn(chat.User, "Some bills are a millicent off, and some have the wrong day. Money is whole millicents, rounded half up, never a float. Please find out why."),
		{tool: "run_tests"},
		{tool: "read_file", path: "meters/tariff.py"},
		{tool: "read_file", path: "tests/test_bill.py"},
		textTurn(chat.Assistant, "charge in meters/tariff.py rounds down: // 1000 drops the half. I add it before the division."),
		{tool: "edit_file", path: "meters/tariff.py", text: "return watt_hours * price // 1000", new: "return (watt_hours * price + 500) // 1000"},
		{tool: "search", text: "// "},
		textTurn(chat.User, "Good. And the day?"),
		{tool: "read_file", path: "meters/bill.py"},
		{tool: "read_file", path: "meters/readings.py"},
		textTurn(chat.Assistant, "usage in meters/bill.py takes the day and the hour in UTC. A bill has the meter's own time, and ZONE is never used."),
		{tool: "edit_file", path: "meters/bill.py", text: "            day = before.at.date()\n            used[reading.meter][day][before.at.hour]", new: "            at = before.at.astimezone(ZONE)\n            used[reading.meter][at.date()][at.hour]"},
		{tool: "run_tests"},
		textTurn(chat.Assistant, "All eleven tests pass: charge rounds half up, and days are those of the meter."),
		textTurn(chat.User, "Does any parser of readings lose part of a kWh? And which test holds the day of a bill?"),
		{tool: "search", text: "kwh"},
		{tool: "recall", text: "test of the day of a bill"},
		textTurn(chat.Assistant, "The day is held by test_the_day_of_a_bill_is_the_day_of_the_meter. And parse_bexley loses something: ljust(3) keeps a fourth decimal, so 1.2345 becomes 1 kWh and 2345 Wh. It should refuse more than three decimals."),
		{tool: "edit_file", path: "meters/readings.py", text: `            kilo, milli = row["kwh"].split(".")`, new: "            kilo, milli = row[\"kwh\"].split(\".\")\n            if len(milli) > 3:\n                raise ValueError(\"more than three decimals\")"},
		{tool: "run_tests"},
		textTurn(chat.Assistant, "Done, and the tests still pass. parse_bexley names the line of a value with more than three decimals."),
		textTurn(chat.User, "Write the entry for the changelog, please."),
		{tool: "read_file", path: "README.md"},
		textTurn(chat.Assistant, "Fixed: charges round half up to a millicent; bills have the day of the meter, not of UTC; kWh with more than three decimals are refused."),
	}
}
