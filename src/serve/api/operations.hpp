#pragma once

#include <memory>
#include <span>

#include "serve/http/operation.hpp"

namespace ackbox::serve {

/// All operations of the API: proto/serve.openapi.json describes the same.
[[nodiscard]] std::span<const Operation> operations();

// The operations' functions, by file. See `Operation::run`.

// enqueue.cpp
void enqueue(Service& service, Request&& request, Respond&& respond);

// messages.cpp
void listMessages(Service& service, Request&& request, Respond&& respond);
void resendMessages(Service& service, Request&& request, Respond&& respond);
void markMessagesFailed(Service& service, Request&& request, Respond&& respond);
void showMessage(Service& service, Request&& request, Respond&& respond);

// figures.cpp
void showStats(Service& service, Request&& request, Respond&& respond);
void listPeers(Service& service, Request&& request, Respond&& respond);
void listSessions(Service& service, Request&& request, Respond&& respond);

// inbox.cpp
void listInbox(Service& service, Request&& request, Respond&& respond);
void retryInbox(Service& service, Request&& request, Respond&& respond);
void discardInbox(Service& service, Request&& request, Respond&& respond);

// inbox_stream.cpp
void streamInbox(Service& service, Request&& request, std::shared_ptr<transport::AnswerStream> answer,
                 Respond&& respond);
void takeInbox(Service& service, Request&& request, Respond&& respond);
void settleInbox(Service& service, Request&& request, Respond&& respond);

// dead_letters.cpp
void listDeadLetters(Service& service, Request&& request, Respond&& respond);
void retryDeadLetters(Service& service, Request&& request, Respond&& respond);
void discardDeadLetters(Service& service, Request&& request, Respond&& respond);

// bulk_request.cpp
void showBulkChange(Service& service, Request&& request, Respond&& respond);

// peers.cpp
void showPeer(Service& service, Request&& request, Respond&& respond);
void definePeer(Service& service, Request&& request, Respond&& respond);
void removePeer(Service& service, Request&& request, Respond&& respond);

// subscriptions.cpp
void listSubscriptions(Service& service, Request&& request, Respond&& respond);
void showSubscription(Service& service, Request&& request, Respond&& respond);
void subscribe(Service& service, Request&& request, Respond&& respond);
void unsubscribe(Service& service, Request&& request, Respond&& respond);

// holds.cpp
void pausePeer(Service& service, Request&& request, Respond&& respond);
void resumePeer(Service& service, Request&& request, Respond&& respond);
void pauseSession(Service& service, Request&& request, Respond&& respond);
void resumeSession(Service& service, Request&& request, Respond&& respond);
void unblockSession(Service& service, Request&& request, Respond&& respond);

// event_stream.cpp
void streamEvents(Service& service, Request&& request, std::shared_ptr<transport::AnswerStream> answer,
                  Respond&& respond);

// description.cpp
void showDescription(Service& service, Request&& request, Respond&& respond);

// health.cpp
void isAlive(Service& service, Request&& request, Respond&& respond);
void isReady(Service& service, Request&& request, Respond&& respond);
void showMetrics(Service& service, Request&& request, Respond&& respond);

}  // namespace ackbox::serve
