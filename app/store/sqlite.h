// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The little of SQLite's C interface that the store uses, as values that clean up after themselves.
// Rules: private to app/store, like every word of SQL. A statement that fails throws SqlError;
// nothing of it leaves the folder, the public functions of the store turn it into an Error. A
// connection and its queries belong to one thread at a time.
#pragma once

#include <QString>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

struct sqlite3;
struct sqlite3_stmt;

namespace trainyard::app {

enum class SqlProblem { DiskFull, Busy, ReadOnly, CannotOpen, NotADatabase, Damaged, Other };

class SqlError : public std::runtime_error {
public:
    SqlError(sqlite3* database, int code);
    SqlError(SqlProblem problem, const std::string& what)
        : std::runtime_error(what), m_problem(problem) {}
    SqlProblem problem() const { return m_problem; }

private:
    SqlProblem m_problem;
};

/// Marks a bound value as bytes; a plain std::string_view is text.
struct Blob {
    std::string_view bytes;
};

/// One run through a prepared statement. Resets it when it goes.
class Query {
public:
    Query(sqlite3* database, sqlite3_stmt* statement, bool* inUse);
    template <class... Values>
    Query(sqlite3* database, sqlite3_stmt* statement, bool* inUse, const Values&... values)
        : Query(database, statement, inUse) {
        (bind(values), ...);
    }
    ~Query();
    Query(const Query&) = delete;
    Query& operator=(const Query&) = delete;

    /// Binds the next parameter. NaN becomes NULL: SQLite has no NaN.
    void bind(std::int64_t value);
    void bind(int value) { bind(static_cast<std::int64_t>(value)); }
    void bind(double value);
    void bind(std::string_view text);
    void bind(const QString& text);
    void bind(Blob blob);
    void bind(std::nullptr_t);
    template <class T>
    void bind(const std::optional<T>& value) {
        if (value)
            bind(*value);
        else
            bind(nullptr);
    }

    /// Goes to the next row; false after the last.
    bool next();
    /// Runs to the end.
    void run();

    bool isNull(int column) const;
    std::int64_t integer(int column) const;
    /// NULL reads as NaN.
    double real(int column) const;
    QString text(int column) const;
    /// Text or blob as it lies in the file; valid until the next step.
    std::string_view bytes(int column) const;

private:
    void check(int code) const;

    sqlite3* m_database;
    sqlite3_stmt* m_statement;
    bool* m_inUse;
    int m_bound = 0;
};

class Connection {
public:
    enum class Mode {
        ReadWriteCreate,
        ReadOnly,
        Immutable ///< for files nobody can change: no locks, no helper files
    };

    Connection(const QString& file, Mode mode);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void attach(const QString& file, const char* schema);
    /// How long a statement waits for another connection's lock.
    void setBusyTimeout(std::chrono::milliseconds timeout);
    /// One or more statements without parameters or rows.
    void execute(const char* sql);
    /// The statement is prepared once per connection; at most one Query of it lives at a time.
    template <class... Values>
    Query query(const char* sql, const Values&... values) {
        Prepared& prepared = prepare(sql);
        return Query(m_database, prepared.statement, &prepared.inUse, values...);
    }
    std::int64_t integer(const char* sql);
    std::int64_t lastInsertedId() const;
    /// Rows changed by the last statement.
    std::int64_t changes() const;
    bool inTransaction() const;

private:
    struct Prepared {
        sqlite3_stmt* statement = nullptr;
        bool inUse = false;
    };
    Prepared& prepare(const char* sql);

    sqlite3* m_database = nullptr;
    std::string m_uriSuffix;
    std::unordered_map<std::string, Prepared> m_prepared;
};

/// A write transaction over all attached files. Rolled back unless committed.
class Transaction {
public:
    explicit Transaction(Connection& connection);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

private:
    Connection& m_connection;
};

/// Makes several queries see the store at one moment.
class ReadTransaction {
public:
    explicit ReadTransaction(Connection& connection);
    ~ReadTransaction();
    ReadTransaction(const ReadTransaction&) = delete;
    ReadTransaction& operator=(const ReadTransaction&) = delete;

private:
    Connection& m_connection;
};

} // namespace trainyard::app
