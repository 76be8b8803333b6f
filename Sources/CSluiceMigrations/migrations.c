#include "CSluiceMigrations.h"

static const unsigned char tables[] = {
#embed "../../Migrations/0001_tables.sql"
};

static const unsigned char views[] = {
#embed "../../Migrations/0002_views.sql"
};

static const unsigned char triggers[] = {
#embed "../../Migrations/0003_triggers.sql"
};

static const struct sluice_migration sluice_migrations[] = {
    {"0001_tables", tables, sizeof tables},
    {"0002_views", views, sizeof views},
    {"0003_triggers", triggers, sizeof triggers},
};

const unsigned long sluice_migration_count = sizeof sluice_migrations / sizeof sluice_migrations[0];

struct sluice_migration sluice_migration_at(unsigned long index) {
    return sluice_migrations[index];
}

static const unsigned char postgres_tables[] = {
#embed "../../Migrations/postgres/0001_tables.sql"
};

static const unsigned char postgres_enqueue[] = {
#embed "../../Migrations/postgres/0002_enqueue.sql"
};

static const unsigned char postgres_step[] = {
#embed "../../Migrations/postgres/0003_step.sql"
};

static const unsigned char postgres_operators[] = {
#embed "../../Migrations/postgres/0004_operators.sql"
};

static const unsigned char postgres_views[] = {
#embed "../../Migrations/postgres/0005_views.sql"
};

static const struct sluice_migration sluice_postgres_migrations[] = {
    {"0001_tables", postgres_tables, sizeof postgres_tables},
    {"0002_enqueue", postgres_enqueue, sizeof postgres_enqueue},
    {"0003_step", postgres_step, sizeof postgres_step},
    {"0004_operators", postgres_operators, sizeof postgres_operators},
    {"0005_views", postgres_views, sizeof postgres_views},
};

const unsigned long sluice_postgres_count = sizeof sluice_postgres_migrations / sizeof sluice_postgres_migrations[0];

struct sluice_migration sluice_postgres_at(unsigned long index) {
    return sluice_postgres_migrations[index];
}
