// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// See sqlite.h. Extended result codes are on, because only they tell a full disk from a broken one.
#include "app/store/sqlite.h"

#include "engine/base/check.h"

#include <sqlite3.h>

#include <QByteArray>
#include <QUrl>

#include <cerrno>
#include <cstring>
#include <limits>

namespace trainyard::app {

namespace {

std::string describe(sqlite3* database, int code) {
    if (database == nullptr)
        return sqlite3_errstr(code);
    std::string text = sqlite3_errmsg(database);
    if (const int cause = sqlite3_system_errno(database);
        cause != 0 && (code & 0xff) != SQLITE_ERROR)
        text += std::string(" (") + std::strerror(cause) + ")";
    return text;
}

SqlProblem classify(sqlite3* database, int code) {
    const int cause = database != nullptr ? sqlite3_system_errno(database) : 0;
    switch (code & 0xff) {
    case SQLITE_FULL:
        return SqlProblem::DiskFull;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return SqlProblem::Busy;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return SqlProblem::ReadOnly;
    case SQLITE_NOTADB:
        return SqlProblem::NotADatabase;
    case SQLITE_CORRUPT:
        return SqlProblem::Damaged;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        // A full disk also shows where the shared-memory or log file cannot be made or grow.
        if (cause == ENOSPC || cause == EDQUOT || code == SQLITE_IOERR_SHMSIZE)
            return SqlProblem::DiskFull;
        return (code & 0xff) == SQLITE_CANTOPEN ? SqlProblem::CannotOpen : SqlProblem::Other;
    default:
        return SqlProblem::Other;
    }
}

int length(std::string_view text) {
    TRAINYARD_CHECK(text.size() < static_cast<std::size_t>(std::numeric_limits<int>::max()));
    return static_cast<int>(text.size());
}

} // namespace

SqlError::SqlError(sqlite3* database, int code)
    : std::runtime_error(describe(database, code)), m_problem(classify(database, code)) {}

Query::Query(sqlite3* database, sqlite3_stmt* statement, bool* inUse)
    : m_database(database), m_statement(statement), m_inUse(inUse) {
    TRAINYARD_CHECK_MSG(!*inUse, sqlite3_sql(statement));
    *m_inUse = true;
}

Query::~Query() {
    // Both only repeat an error that a step has thrown already.
    sqlite3_reset(m_statement);
    sqlite3_clear_bindings(m_statement);
    *m_inUse = false;
}

void Query::check(int code) const {
    if (code != SQLITE_OK)
        throw SqlError(m_database, code);
}

void Query::bind(std::int64_t value) {
    check(sqlite3_bind_int64(m_statement, ++m_bound, value));
}

void Query::bind(double value) {
    check(sqlite3_bind_double(m_statement, ++m_bound, value));
}

void Query::bind(std::string_view text) {
    // An empty view may have no address, which SQLite would take for NULL.
    const char* data = text.empty() ? "" : text.data();
    check(sqlite3_bind_text(m_statement, ++m_bound, data, length(text), SQLITE_TRANSIENT));
}

void Query::bind(const QString& text) {
    const QByteArray utf8 = text.toUtf8();
    bind(std::string_view(utf8.constData(), static_cast<std::size_t>(utf8.size())));
}

void Query::bind(Blob blob) {
    const char* data = blob.bytes.empty() ? "" : blob.bytes.data();
    check(sqlite3_bind_blob(m_statement, ++m_bound, data, length(blob.bytes), SQLITE_TRANSIENT));
}

void Query::bind(std::nullptr_t) {
    check(sqlite3_bind_null(m_statement, ++m_bound));
}

bool Query::next() {
    const int code = sqlite3_step(m_statement);
    if (code == SQLITE_ROW)
        return true;
    if (code != SQLITE_DONE)
        throw SqlError(m_database, code);
    return false;
}

void Query::run() {
    while (next()) {
    }
}

bool Query::isNull(int column) const {
    return sqlite3_column_type(m_statement, column) == SQLITE_NULL;
}

std::int64_t Query::integer(int column) const {
    return sqlite3_column_int64(m_statement, column);
}

double Query::real(int column) const {
    return isNull(column) ? std::numeric_limits<double>::quiet_NaN()
                          : sqlite3_column_double(m_statement, column);
}

QString Query::text(int column) const {
    const std::string_view utf8 = bytes(column);
    return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

std::string_view Query::bytes(int column) const {
    // The order matters: asking for the pointer first settles the form that the length is of.
    const void* data = sqlite3_column_blob(m_statement, column);
    const int size = sqlite3_column_bytes(m_statement, column);
    return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

Connection::Connection(const QString& file, Mode mode) {
    int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    flags |= mode == Mode::ReadWriteCreate ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                           : SQLITE_OPEN_READONLY;
    if (mode == Mode::Immutable)
        m_uriSuffix = "?immutable=1";
    const std::string uri = QUrl::fromLocalFile(file).toEncoded().toStdString() + m_uriSuffix;
    const int code = sqlite3_open_v2(uri.c_str(), &m_database, flags, nullptr);
    if (code != SQLITE_OK) {
        const SqlError error(m_database, code);
        sqlite3_close_v2(m_database);
        throw error;
    }
    sqlite3_extended_result_codes(m_database, 1);
}

Connection::~Connection() {
    for (auto& [sql, prepared] : m_prepared)
        sqlite3_finalize(prepared.statement);
    sqlite3_close_v2(m_database);
}

void Connection::attach(const QString& file, const char* schema) {
    const std::string uri = QUrl::fromLocalFile(file).toEncoded().toStdString() + m_uriSuffix;
    query("ATTACH ?1 AS ?2", std::string_view(uri), std::string_view(schema)).run();
}

void Connection::setBusyTimeout(std::chrono::milliseconds timeout) {
    sqlite3_busy_timeout(m_database, static_cast<int>(timeout.count()));
}

void Connection::execute(const char* sql) {
    const int code = sqlite3_exec(m_database, sql, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK)
        throw SqlError(m_database, code);
}

Connection::Prepared& Connection::prepare(const char* sql) {
    Prepared& prepared = m_prepared[sql];
    if (prepared.statement == nullptr) {
        const int code = sqlite3_prepare_v3(m_database, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                            &prepared.statement, nullptr);
        if (code != SQLITE_OK)
            throw SqlError(m_database, code);
    }
    return prepared;
}

std::int64_t Connection::integer(const char* sql) {
    Query rows = query(sql);
    return rows.next() ? rows.integer(0) : 0;
}

std::int64_t Connection::lastInsertedId() const {
    return sqlite3_last_insert_rowid(m_database);
}

std::int64_t Connection::changes() const {
    return sqlite3_changes(m_database);
}

bool Connection::inTransaction() const {
    return sqlite3_get_autocommit(m_database) == 0;
}

Transaction::Transaction(Connection& connection) : m_connection(connection) {
    // IMMEDIATE takes the write locks at once and always in the same order of files: two writers
    // wait for each other in a queue and cannot each hold what the other needs.
    m_connection.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
    // SQLite itself has rolled back after some errors (a full disk).
    if (m_connection.inTransaction()) {
        try {
            m_connection.execute("ROLLBACK");
        } catch (const SqlError&) {
            // The transaction ends with the connection at the latest.
        }
    }
}

void Transaction::commit() {
    m_connection.execute("COMMIT");
}

ReadTransaction::ReadTransaction(Connection& connection) : m_connection(connection) {
    m_connection.execute("BEGIN");
}

ReadTransaction::~ReadTransaction() {
    try {
        m_connection.execute("COMMIT");
    } catch (const SqlError&) {
        // Nothing was written; the error has been thrown by the query that met it.
    }
}

} // namespace trainyard::app
