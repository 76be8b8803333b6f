#if GRDB
import GRDB
import SluiceGRDB

/// Opens the application's database, with its tables and those of the queues.
func openDatabase(_ path: String) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.prepareForSluice()
    let pool = try DatabasePool(path: path, configuration: configuration)
    var migrator = DatabaseMigrator()
    // First: our triggers name the views of the queues.
    migrator.registerSluiceMigrations()
    migrator.registerMigration("chat") { try $0.execute(sql: chatSchema) }
    try migrator.migrate(pool)
    return pool
}

/// When a row is deleted, its actions are deleted with it.
private let chatSchema = """
    CREATE TABLE account (
        id TEXT PRIMARY KEY NOT NULL, token TEXT, login INTEGER NOT NULL
    );
    CREATE TABLE message (
        id TEXT PRIMARY KEY NOT NULL, account TEXT NOT NULL REFERENCES account ON DELETE CASCADE,
        conversation TEXT NOT NULL, text TEXT NOT NULL, attachment TEXT,
        isAttachmentStored BOOLEAN NOT NULL, sentText TEXT
    );
    CREATE INDEX messageOfAccount ON message (account);
    CREATE TRIGGER messageDeleted AFTER DELETE ON message BEGIN
        DELETE FROM sluice_actions WHERE tag = 'message-' || OLD.id;
        DELETE FROM sluice_dead WHERE tag = 'message-' || OLD.id;
    END;
    CREATE TRIGGER accountDeleted AFTER DELETE ON account BEGIN
        DELETE FROM sluice_actions WHERE tag = 'account-' || OLD.id;
        DELETE FROM sluice_dead WHERE tag = 'account-' || OLD.id;
    END
    """
#endif
