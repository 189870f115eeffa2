#pragma once

namespace ackbox::store::postgres {

/// The statements that make the schema, its tables and its functions; `#` stands for the schema's name.
extern const char* const kTablesSql;
extern const char* const kFunctionsSql;

}  // namespace ackbox::store::postgres
