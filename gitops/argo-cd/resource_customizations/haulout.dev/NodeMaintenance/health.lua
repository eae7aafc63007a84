-- Health of a NodeMaintenance. Only what Lua has without its libraries: in argocd-cm a script gets no others.
local function health(status, message)
  return {status = status, message = message}
end

if obj.metadata.deletionTimestamp ~= nil then
  return health("Progressing", "the node is being put back as it was")
end

local status = obj.status or {}
if status.observedGeneration ~= obj.metadata.generation then
  return health("Progressing", "the operator has not seen this version yet")
end

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local ready = conditions.Ready
if ready == nil then
  return health("Progressing", "the operator has not said anything yet")
end
if ready.status == "True" then
  return health("Healthy", ready.message)
end
if conditions.Stalled ~= nil and conditions.Stalled.status == "True" then
  return health("Degraded", conditions.Stalled.message)
end
if status.phase == "Failed" or status.phase == "NodeGone" then
  return health("Degraded", ready.message)
end
if ready.reason == "Suspended" then
  return health("Suspended", ready.message)
end
return health("Progressing", ready.message)
