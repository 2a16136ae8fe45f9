-- lib/mark: how the value of a lock begins, without a line and with one; for how long a lock stays reserved
-- for a waiter of a kind that is not fair: long enough for a message and a try, in milliseconds; and how long
-- the line in the value is at most, in characters: some 60 for each waiter.
local MARK, MARK_WITH_LINE, RESERVED_MS, MOST_IN_VALUE = 'lt1', 'lt2', 50, 4096

