#pragma once

// For programs that claim messages by themselves instead of letting `OutboxManager::start` deliver them.

#include "ackbox/claim.hpp"
#include "ackbox/outbox_manager.hpp"
