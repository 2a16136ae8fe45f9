-- lib/mark: how the value of a lock begins, and for how long a lock stays reserved for a waiter of a kind that
-- is not fair: long enough for a message and a try, in milliseconds.
local MARK, RESERVED_MS = 'lt1', 50

