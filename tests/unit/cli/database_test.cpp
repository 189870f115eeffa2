// Goal: what the tool cannot do with a database is refused with the reason and what to do instead. Method: the commands
// with a URL, which none of them opens; a transcript.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tool_stage.hpp"

namespace ackbox::testing {

TEST_CASE("a command that is for files is refused on a database, with what to do instead") {
  ToolStage stage;
  const std::string url = "postgres://db.example/orders";
  for (const char* command : {"vacuum", "doctor"}) {
    stage.play({command, url});
  }
  stage.play({"backup", url, "copy.db"});
  stage.play({"backup", "@", url});
  stage.play({"move", url, url});
  stage.play({"repair", url, "--dry-run"});
  stage.play({"restore", url, url});
  stage.play({"restore", url, url, "--identity", "keep"});
  stage.play({"restore", url, "@", "--identity", "new"});
  stage.play({"restore", "@", url, "--json"});
  stage.checkGolden("database.txt");
}

}  // namespace ackbox::testing
