-- Shop module.
local M = {}

local MAX = 10
VERSION = "1.0"

--- Finds an item.
-- @param id the id
function M.find(id, ...)
  local function helper(a) return a end
  return helper(id)
end

function M:close() end

local function private_one(a, b)
  return a
end

M.build = function(name)
  return { name = name }
end

local add = function(a, b) return a + b end

local handlers = {
  open = function(self) end,
  [1] = function() end,
}

function global() end

return M
