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
