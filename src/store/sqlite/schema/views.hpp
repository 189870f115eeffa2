#pragma once

#include <string>

namespace ackbox::store::sqlite {

/// SQL, with `#` as the table prefix: the views of a file, for people and for other programs (docs/sql_views.md).
/// Nothing of ours reads them: a statement that does not name them only pays for their text when a schema is read.
[[nodiscard]] std::string viewsSql();

}  // namespace ackbox::store::sqlite
