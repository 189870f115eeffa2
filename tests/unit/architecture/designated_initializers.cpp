// Goal: a designated initializer that names some members of a public value makes no warning in a program that asks for
// them.
// Method: compile one for each, with warnings as errors. The rest of its members must have initializers of their own.

#include <ackbox/claim.hpp>
#include <ackbox/dead_letters.hpp>
#include <ackbox/diagnosis.hpp>
#include <ackbox/events.hpp>
#include <ackbox/failure.hpp>
#include <ackbox/frame.hpp>
#include <ackbox/frame_handler.hpp>
#include <ackbox/health.hpp>
#include <ackbox/http_sender.hpp>
#include <ackbox/inbound_frame.hpp>
#include <ackbox/inbound_options.hpp>
#include <ackbox/inbound_peer.hpp>
#include <ackbox/inbound_request.hpp>
#include <ackbox/inbound_server.hpp>
#include <ackbox/mailbox_fetcher.hpp>
#include <ackbox/message.hpp>
#include <ackbox/message_page.hpp>
#include <ackbox/options.hpp>
#include <ackbox/peer_status.hpp>
#include <ackbox/receipt.hpp>
#include <ackbox/retry_policy.hpp>
#include <ackbox/run_report.hpp>
#include <ackbox/sender.hpp>
#include <ackbox/stats.hpp>
#include <ackbox/testing/check_handler.hpp>
#include <ackbox/testing/handler_trial.hpp>
#include <ackbox/testing/ledger.hpp>
#include <ackbox/testing/network.hpp>
#include <ackbox/tls.hpp>

namespace ackbox::test {

// Never called.
void initializeSomeMembers() {
  (void)ClaimToken{.number = {}};
  (void)Claim{.token = {}};
  (void)ClaimResult{.token = {}};
  (void)RecoverReport{.claims = {}};
  (void)DeadLetterFilter{.peer = {}};
  (void)ChangeReceipt{.refusal = {}};
  (void)DeadLetterPage{.messages = {}};
  (void)Reason{.blockReason = {}};
  (void)Explanation{.message = {}};
  (void)Finding{.table = {}};
  (void)VerifyReport{.findings = {}};
  (void)MessageEvent{.messageId = {}};
  (void)PeerEvent{.peer = {}};
  (void)PeerResetEvent{.peer = {}};
  (void)FailureContext{.messageId = {}};
  (void)Frame{.peer = {}};
  (void)HandlerResult{.outcome = {}};
  (void)HealthThresholds{.failed = {}};
  (void)HealthEvent{.check = {}};
  (void)HttpSenderOptions{.resolveTimeout = {}};
  (void)HttpSenderStats{.connections = {}};
  (void)InboundFrame{.id = {}};
  (void)DeferredOptions{.handler = {}};
  (void)InboundLimits{.sessionsMax = {}};
  (void)InboundLimitEvent{.source = {}};
  (void)InboundRefusal{.reason = {}};
  (void)InboundGap{.source = {}};
  (void)InboundOptions{.batchFramesMax = {}};
  (void)InboundPeer{.agents = {}};
  (void)InboundRequest{.contentType = {}};
  (void)InboundResponse{.status = {}};
  (void)InboundServerOptions{.address = {}};
  (void)InboundServerStats{.connections = {}};
  (void)MailboxFetcherOptions{.url = {}};
  (void)MailboxStatus{.state = {}};
  (void)MessageInfo{.messageId = {}};
  (void)MessageFilter{.state = {}};
  (void)MessagePage{.messages = {}};
  (void)PeerOptions{.name = {}};
  (void)SessionPolicy{.peer = {}};
  (void)OutboxOptions{.agent = {}};
  (void)PeerStatus{.name = {}};
  (void)BlockedSession{.peer = {}};
  (void)EnqueueReceipt{.status = {}};
  (void)RetryContext{.retry = {}};
  (void)RetryPolicy{.backoff = {}};
  (void)RateLimit{.frames = {}};
  (void)PeerHealthPolicy{.lossTolerance = {}};
  (void)DrainReport{.claimed = {}};
  (void)StopReport{.abandonedRequests = {}};
  (void)OutboundFrame{.messageId = {}};
  (void)SendRequest{.peer = {}};
  (void)FrameResult{.outcome = {}};
  (void)SessionReport{.firstFrame = {}};
  (void)SendReport{.outcome = {}};
  (void)SendFunctionResult{.success = {}};
  (void)LatencyStats{.count = {}};
  (void)Stats{.pending = {}};
  (void)PeerStats{.peer = {}};
  (void)SessionStats{.peer = {}};
  (void)InboundSenderStats{.source = {}};
  (void)InboundOriginStats{.origin = {}};
  (void)RepairReport{.mended = {}};
  (void)ForgetReport{.sessions = {}};
  (void)SessionFilter{.peer = {}};
  (void)SessionPage{.sessions = {}};
  (void)testing::CheckOptions{.schema = {}};
  (void)testing::CheckReport{.worlds = {}};
  (void)testing::HandlerTrialOptions{.schema = {}};
  (void)testing::HandlerTrialResult{.wasCalled = {}};
  (void)testing::NetworkFaults{.refused = {}};
  (void)testing::ReceivedReply{.to = {}};
  (void)testing::SentFrame{.number = {}};
  (void)TlsClientOptions{.authorityFile = {}};
  (void)TlsServerOptions{.certificateFile = {}};
}

}  // namespace ackbox::test
