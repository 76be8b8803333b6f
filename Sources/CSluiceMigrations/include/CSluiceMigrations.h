#ifndef CSLUICE_MIGRATIONS_H
#define CSLUICE_MIGRATIONS_H

/// One file of Migrations/, embedded byte for byte when this target is built.
struct sluice_migration {
    /// The file's name without `.sql`, for example `0001_tables`.
    const char *name;
    /// The file's bytes; not terminated.
    const unsigned char *sql;
    unsigned long length;
};

/// How many there are.
extern const unsigned long sluice_migration_count;

/// The migration at an index below the count, in the order in which they apply. (Swift does not import arrays
/// of unknown size.)
struct sluice_migration sluice_migration_at(unsigned long index);

/// The same for the files of Migrations/postgres/.
extern const unsigned long sluice_postgres_count;
struct sluice_migration sluice_postgres_at(unsigned long index);

#endif
