// Calls of libpq, in the place of the library's own, for connections that belong to a simulated process; others pass.
// Statements that are sent without being awaited, as by `Notifier`, pass too: whether they are sent depends on real
// time.

#include <dlfcn.h>
#include <libpq-fe.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "simulation/postgres_wire.hpp"

namespace ackbox::simulation {
namespace {

using Fate = PostgresWire::Fate;

enum class Kind { begins, relaxes, writes, commits, other };

struct Line {
  std::shared_ptr<PostgresWire> wire;
  /// The prepared statements.
  std::map<std::string, Kind> kinds;
  /// The transaction has written; its COMMIT waits for the disk; and is what is sent next, or a part of it.
  bool isDirty = false;
  bool isDurable = false;
  bool commits = false;
};

std::map<PGconn*, Line>& lines() {
  static std::map<PGconn*, Line> all;
  return all;
}

Line* lineOf(PGconn* connection) {
  const auto found = lines().find(connection);
  return found == lines().end() ? nullptr : &found->second;
}

// A lookup that only reads is no write: a process that polls would be killed, and its connection lost, in polls alone.
Kind kindOf(std::string_view sql) {
  if (sql.starts_with("BEGIN")) {
    return Kind::begins;
  }
  if (sql.starts_with("SET LOCAL synchronous_commit")) {
    return Kind::relaxes;
  }
  if (sql.starts_with("COMMIT")) {
    return Kind::commits;
  }
  for (const std::string_view verb : {"INSERT", "UPDATE", "DELETE", "WITH", "SELECT ackbox.fold"}) {
    if (sql.starts_with(verb)) {
      return Kind::writes;
    }
  }
  return Kind::other;
}

void note(Line& line, Kind kind) {
  line.isDirty = kind == Kind::writes || (kind != Kind::begins && line.isDirty);
  line.isDurable = kind == Kind::begins || (kind != Kind::relaxes && line.isDurable);
  line.commits = kind == Kind::commits;
}

// For what is sent next. A connection that is lost already is not lost once more.
Fate fateOf(const Line& line, const PGconn* connection) {
  if (!line.isDirty || PQstatus(connection) != CONNECTION_OK) {
    return Fate::passes;
  }
  return line.wire->next(line.isDurable && line.commits);
}

template <typename Function>
Function* original(const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
  if (found == nullptr) {
    std::fprintf(stderr, "no library has %s behind this program\n", name);
    std::abort();
  }
  return found;
}

// The last result that the connection has, as PQexec returns it.
PGresult* lastResult(PGconn* connection) {
  PGresult* last = nullptr;
  while (PGresult* const next = PQgetResult(connection)) {
    PQclear(last);
    last = next;
  }
  return last;
}

// One statement that is awaited. `call` is the library's own; `send` is the same without the wait.
template <typename Call, typename Send>
PGresult* await(PGconn* connection, Kind kind, const Call& call, const Send& send) {
  Line* const line = lineOf(connection);
  if (line == nullptr) {
    return call();
  }
  note(*line, kind);
  const Fate fate = fateOf(*line, connection);
  if (fate == Fate::passes) {
    return call();
  }
  if (fate == Fate::lostAfter && send() == 1) {
    line->wire->lose(connection);
    return lastResult(connection);
  }
  line->wire->lose(connection);
  return call();
}

PGconn* unreachable() {
  static auto* const connect = original<decltype(PQconnectdbParams)>("PQconnectdbParams");
  const char* const keywords[] = {"host", nullptr};
  const char* const values[] = {"/nowhere/simulated", nullptr};
  return connect(keywords, values, 0);
}

}  // namespace
}  // namespace ackbox::simulation

using namespace ackbox::simulation;

extern "C" {

PGconn* PQconnectdbParams(const char* const* keywords, const char* const* values, int expandsName) {
  static auto* const connect = original<decltype(PQconnectdbParams)>("PQconnectdbParams");
  std::shared_ptr<PostgresWire> wire;
  for (std::size_t place = 0; keywords[place] != nullptr && !wire; ++place) {
    wire = values[place] == nullptr ? nullptr : PostgresWire::in(values[place]);
  }
  if (wire && !wire->mayConnect()) {
    return unreachable();
  }
  PGconn* const made = connect(keywords, values, expandsName);
  if (wire && PQstatus(made) == CONNECTION_OK) {
    wire->add(made);
    lines()[made].wire = std::move(wire);
  }
  return made;
}

void PQfinish(PGconn* connection) {
  static auto* const finish = original<decltype(PQfinish)>("PQfinish");
  if (Line* const line = lineOf(connection)) {
    line->wire->remove(connection);
    lines().erase(connection);
  }
  finish(connection);
}

PGresult* PQexec(PGconn* connection, const char* sql) {
  static auto* const execute = original<decltype(PQexec)>("PQexec");
  return await(
      connection, kindOf(sql), [&] { return execute(connection, sql); }, [&] { return PQsendQuery(connection, sql); });
}

PGresult* PQexecParams(PGconn* connection, const char* sql, int count, const Oid* types, const char* const* values,
                       const int* lengths, const int* formats, int resultFormat) {
  static auto* const execute = original<decltype(PQexecParams)>("PQexecParams");
  return await(
      connection, kindOf(sql),
      [&] { return execute(connection, sql, count, types, values, lengths, formats, resultFormat); },
      [&] { return PQsendQueryParams(connection, sql, count, types, values, lengths, formats, resultFormat); });
}

PGresult* PQprepare(PGconn* connection, const char* name, const char* sql, int count, const Oid* types) {
  static auto* const prepare = original<decltype(PQprepare)>("PQprepare");
  if (Line* const line = lineOf(connection)) {
    line->kinds[name] = kindOf(sql);
  }
  return prepare(connection, name, sql, count, types);
}

PGresult* PQexecPrepared(PGconn* connection, const char* name, int count, const char* const* values, const int* lengths,
                         const int* formats, int resultFormat) {
  static auto* const execute = original<decltype(PQexecPrepared)>("PQexecPrepared");
  static auto* const send = original<decltype(PQsendQueryPrepared)>("PQsendQueryPrepared");
  Line* const line = lineOf(connection);
  return await(
      connection, line == nullptr ? Kind::other : line->kinds[name],
      [&] { return execute(connection, name, count, values, lengths, formats, resultFormat); },
      [&] { return send(connection, name, count, values, lengths, formats, resultFormat); });
}

int PQsendQueryPrepared(PGconn* connection, const char* name, int count, const char* const* values, const int* lengths,
                        const int* formats, int resultFormat) {
  static auto* const send = original<decltype(PQsendQueryPrepared)>("PQsendQueryPrepared");
  if (Line* const line = lineOf(connection)) {
    note(*line, line->kinds[name]);
  }
  return send(connection, name, count, values, lengths, formats, resultFormat);
}

int PQpipelineSync(PGconn* connection) {
  static auto* const sync = original<decltype(PQpipelineSync)>("PQpipelineSync");
  Line* const line = lineOf(connection);
  const Fate fate = line == nullptr ? Fate::passes : fateOf(*line, connection);
  if (fate == Fate::lostBefore) {
    line->wire->lose(connection);
  }
  const int isSent = sync(connection);
  if (fate == Fate::lostAfter) {
    line->wire->lose(connection);
  }
  return isSent;
}

}  // extern "C"
