#include "power_cut.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "ackbox/diagnosis.hpp"
#include "ackbox/error.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/random.hpp"
#include "support/crash_images.hpp"
#include "two_agents.hpp"

namespace ackbox::testing {
namespace {

constexpr std::size_t kCoins = 4;
constexpr std::size_t kViolationsKept = 10;
// One image in this many is cut again during recovery.
constexpr std::uint64_t kSecondCutEvery = 6;

using Ways = std::array<Survival, 2>;

/// The moment of a cut, and the changes that survived it.
struct Cut {
  std::size_t moment = 0;
  Ways ways;

  [[nodiscard]] std::string text() const {
    return "cut after operation " + std::to_string(moment) + "; Alice: " + ways[alice].text() +
           "; Bob: " + ways[bob].text();
  }
};

/// Opens one pair of images, lets the agents finish, and compares the result with the messages enqueued until `moment`.
class Judge {
public:
  Judge(const TempDir& folder, const std::vector<Said>& said, std::size_t moment, const RunOptions& options)
      : folder_(folder), said_(said), moment_(moment), options_(options) {}

  std::vector<std::string> judge(const Images& images, const std::shared_ptr<DiskRecord>& record) {
    try {
      TwoAgents agents(folder_, options_.durability, images, record);
      agents.started = options_.started;
      for (const Side side : kSides) {
        agents.open(side);
        verify(agents, side);
      }
      require(agents.heal(), "messages are left over that nothing hinders");
      for (const Side side : kSides) {
        verify(agents, side);
        require(agents.integrity(side) == "ok", "SQLite finds the file damaged");
      }
      const auto atBob = agents.effects(bob);
      auto atAlice = agents.effects(alice);
      const auto fetched = std::stable_partition(
          atAlice.begin(), atAlice.end(), [](const auto& effect) { return effect.messageId.starts_with("re-"); });
      const std::vector<TwoAgents::Effect> atBox(fetched, atAlice.end());
      atAlice.erase(fetched, atAlice.end());
      for (const auto& [peer, effects] : {std::pair(kBob, &atBob), std::pair(kBox, &atBox)}) {
        checkOnce(peer, *effects);
        checkOrder(peer, *effects);
      }
      checkPublications(atBob, atBox);
      checkReplies(atBob, atAlice);
    } catch (const std::exception& error) {
      require(false, error.what());
    }
    return std::move(violations_);
  }

private:
  void require(bool holds, const std::string& violation) {
    if (!holds) {
      violations_.push_back(violation);
    }
  }

  void verify(TwoAgents& agents, Side side) {
    for (const Finding& finding : OutboxReader(agents.manager(side)).verify().findings) {
      require(false, "verify: " + finding.table + ": " + finding.problem);
    }
  }

  void checkOnce(std::string_view peer, const std::vector<TwoAgents::Effect>& effects) {
    std::map<std::string, std::vector<std::string>> byId;
    for (const TwoAgents::Effect& effect : effects) {
      byId[effect.messageId].push_back(effect.data);
    }
    for (const Said& said : said_) {
      if (said.peer != peer) {
        require(!byId.contains(said.messageId), said.messageId + " took effect at another agent");
        continue;
      }
      const auto found = byId.find(said.messageId);
      const std::size_t count = found == byId.end() ? 0 : found->second.size();
      require(count <= 1, said.messageId + " took effect " + std::to_string(count) + " times");
      require(count == 0 || found->second.front() == said.data, said.messageId + " took effect with other data");
      require(count == 0 || said.calledAt <= moment_, said.messageId + " took effect though it was never said");
      require(count == 0 || said.discardedAt > moment_, said.messageId + " took effect though it was discarded");
      const bool owed = said.returnedAt <= moment_ && said.discardCalledAt > moment_ && !superseded(said);
      require(count == 1 || !owed, said.messageId + " is lost though its enqueue returned");
    }
  }

  [[nodiscard]] bool superseded(const Said& said) const {
    return !said.supersedeKey.empty() && std::any_of(said_.begin(), said_.end(), [&](const Said& other) {
      return &other > &said && other.peer == said.peer && other.session == said.session &&
             other.supersedeKey == said.supersedeKey && other.calledAt <= moment_;
    });
  }

  // Both subscribers get what was published, or none.
  void checkPublications(const std::vector<TwoAgents::Effect>& atBob, const std::vector<TwoAgents::Effect>& atBox) {
    std::map<std::size_t, std::set<bool>> hasEffect;
    for (const Said& said : said_) {
      if (said.publication != 0 && said.discardCalledAt == kNever) {
        const auto& effects = said.peer == kBob ? atBob : atBox;
        hasEffect[said.publication].insert(std::ranges::find(effects, said.messageId, &TwoAgents::Effect::messageId) !=
                                           effects.end());
      }
    }
    for (const auto& [number, outcomes] : hasEffect) {
      require(outcomes.size() == 1, "publish " + std::to_string(number) + " reached one subscriber only");
    }
  }

  void checkOrder(std::string_view peer, const std::vector<TwoAgents::Effect>& effects) {
    std::map<std::pair<std::string, std::string>, std::uint64_t> last;
    std::map<std::string, std::size_t> place;
    for (const TwoAgents::Effect& effect : effects) {
      place.emplace(effect.messageId, place.size());
      if (effect.sequence == 0) {
        continue;
      }
      std::uint64_t& sequence = last[{effect.origin, effect.session}];
      require(effect.sequence > sequence, effect.messageId + " took effect out of its session's order");
      sequence = effect.sequence;
    }
    // A redriven message goes to its session's tail; the others keep the order of their enqueues.
    std::map<std::string, std::size_t> before;
    for (const Said& said : said_) {
      const auto found = place.find(said.messageId);
      if (said.peer == peer && found != place.end() && !said.rejected && !said.session.empty()) {
        const auto known = before.find(said.session);
        require(known == before.end() || known->second < found->second,
                said.messageId + " took effect before what was said earlier");
        before[said.session] = found->second;
      }
    }
  }

  void checkReplies(const std::vector<TwoAgents::Effect>& atBob, const std::vector<TwoAgents::Effect>& atAlice) {
    std::multiset<std::string> expected;
    for (const TwoAgents::Effect& effect : atBob) {
      expected.insert("re-" + effect.messageId);
    }
    std::multiset<std::string> found;
    for (const TwoAgents::Effect& effect : atAlice) {
      found.insert(effect.messageId);
    }
    require(found == expected, "the replies that took effect are not those of the frames that took effect");
  }

  const TempDir& folder_;
  const std::vector<Said>& said_;
  const std::size_t moment_;
  const RunOptions& options_;
  std::vector<std::string> violations_;
};

class Cutter {
public:
  Cutter(const TempDir& folder, const RunOptions& options, const RecordedRun& run)
      : folder_(folder),
        options_(options),
        run_(run),
        random_(seededRandom(options.seed ^ 0xc07)),
        first_(firstFailure(run.record->operations())) {}

  CutReport cut(std::uint64_t budget) {
    std::uint64_t momentsLeft = 0;
    walk([&](std::size_t /*moment*/, const auto& histories) {
      report_.possible += histories[alice].survivals(kCoins, 0).size() + histories[bob].survivals(kCoins, 0).size();
      ++momentsLeft;
    });
    const bool every = budget >= report_.possible;
    std::uint64_t left = budget;
    walk([&](std::size_t moment, const auto& histories) {
      const std::uint64_t seed = options_.seed * 1'000'003 + moment * 101;
      const auto atAlice = histories[alice].survivals(kCoins, seed);
      const auto atBob = histories[bob].survivals(kCoins, seed + 50);
      if (every) {
        for (const Survival& way : atAlice) {
          open({moment, Ways{way, Survival()}}, histories);
        }
        for (const Survival& way : atBob) {
          open({moment, Ways{Survival(), way}}, histories);
        }
        return;
      }
      // Each moment has the same chance, whatever the number of unsynced changes.
      for (; left > 0 && below(momentsLeft) < left; --left) {
        // A cut of one machine, of the other, or of both.
        const std::uint64_t dice = below(3);
        const Survival way = atAlice[below(atAlice.size())];
        const Survival otherWay = atBob[below(atBob.size())];
        open({moment, Ways{dice == 1 ? Survival() : way, dice == 0 ? Survival() : otherWay}}, histories);
      }
      --momentsLeft;
    });
    return std::move(report_);
  }

private:
  using Histories = std::array<DiskHistory, 2>;

  std::uint64_t below(std::uint64_t end) { return random_->next() % end; }

  /// Calls `visit` with the synced and the unsynced changes, at every moment from the first failure on.
  template <typename Visit>
  void walk(Visit visit) const {
    Histories histories{DiskHistory(run_.start[alice]), DiskHistory(run_.start[bob])};
    const auto& operations = run_.record->operations();
    for (std::size_t moment = 0; moment <= operations.size(); ++moment) {
      if (moment > 0) {
        histories[operations[moment - 1].disk].apply(operations[moment - 1]);
      }
      if (moment >= first_) {
        visit(moment, histories);
      }
    }
  }

  /// Moments before a sync that failed are skipped.
  [[nodiscard]] static std::size_t firstFailure(const std::vector<DiskOperation>& operations) {
    const auto failed = std::ranges::find(operations, DiskCall::forget, &DiskOperation::kind);
    return failed == operations.end() ? 0 : static_cast<std::size_t>(failed - operations.begin());
  }

  void open(const Cut& cut, const Histories& at) {
    if (options_.endsAtBroken && report_.broken > 0) {
      return;
    }
    const Images images{at[alice].image(cut.ways[alice]), at[bob].image(cut.ways[bob])};
    const bool again = below(kSecondCutEvery) == 0;
    const auto record = again ? std::make_shared<DiskRecord>() : nullptr;
    judge(cut, images, record, cut.text());
    if (!again) {
      return;
    }
    Histories histories{DiskHistory(images[alice]), DiskHistory(images[bob])};
    const std::size_t moment = below(record->length() + 1);
    for (std::size_t index = 0; index < moment; ++index) {
      histories[record->operations()[index].disk].apply(record->operations()[index]);
    }
    Cut second{moment, {}};
    for (const Side side : kSides) {
      const auto ways = histories[side].survivals(kCoins, random_->next());
      second.ways[side] = ways[below(ways.size())];
    }
    ++report_.secondCuts;
    judge(cut, {histories[alice].image(second.ways[alice]), histories[bob].image(second.ways[bob])}, nullptr,
          cut.text() + "; then, while recovering, " + second.text());
  }

  void judge(const Cut& cut, const Images& images, const std::shared_ptr<DiskRecord>& record,
             const std::string& where) {
    ++report_.opened;
    const auto violations = judgeImages(folder_, options_, run_.said, cut.moment, images, record);
    report_.broken += violations.empty() ? 0U : 1U;
    for (const std::string& violation : violations) {
      if (report_.violations.size() < kViolationsKept) {
        report_.violations.push_back(violation + " (" + where + ")");
      }
    }
  }

  const TempDir& folder_;
  const RunOptions& options_;
  const RecordedRun& run_;
  const std::shared_ptr<Random> random_;
  const std::size_t first_;
  CutReport report_;
};

}  // namespace

std::vector<std::string> judgeImages(const TempDir& folder, const RunOptions& options, const std::vector<Said>& said,
                                     std::size_t moment, const Images& images,
                                     const std::shared_ptr<DiskRecord>& record) {
  return Judge(folder, said, moment, options).judge(images, record);
}

CutReport cutPower(const TempDir& folder, const RunOptions& options, const RecordedRun& run, std::uint64_t budget) {
  return Cutter(folder, options, run).cut(budget);
}

}  // namespace ackbox::testing
