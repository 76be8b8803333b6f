"""A PostgreSQL server for the checks, and schemas with the engine's tables and functions."""

import itertools
import pathlib
import subprocess

import psycopg2

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
MIGRATIONS = sorted((REPOSITORY / "Migrations/postgres").glob("0*.sql"))
NO_SERVER = 69


class Server:
    """A server that ends with this process."""

    # A statement that takes longer waits for something that will not happen.
    statement_timeout = "20s"

    def __init__(self):
        self._numbers = itertools.count(1)
        self._process = subprocess.Popen(
            [REPOSITORY / ".ci/postgres", "fsync=off", "deadlock_timeout=100ms", "max_prepared_transactions=2"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        line = self._process.stdout.readline().split()
        self.folder = line[0] if line else None
        if not line and self._process.wait() != NO_SERVER:
            raise RuntimeError("the server did not start")

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def connect(self, schema, isolation=None, autocommit=True, user="postgres", path=None):
        connection = psycopg2.connect(host=self.folder, user=user, dbname="postgres")
        with connection.cursor() as cursor:
            cursor.execute(f"SET search_path TO {path or quoted(schema) + ', pg_temp'}")
            cursor.execute(f"SET statement_timeout = '{self.statement_timeout}'")
        connection.commit()
        connection.set_session(isolation_level=isolation, autocommit=autocommit)
        return connection

    @staticmethod
    def texts():
        """The texts of the files, by the start of their names."""
        return {file.name[:4]: file.read_text() for file in MIGRATIONS}

    def make_schema(self, name=None, change=lambda texts: texts):
        """Makes a schema as the library does: each file in a transaction, after the table of migrations. `change` may
        replace the texts of the files."""
        name = name or f"checks {next(self._numbers)}"
        texts = change(self.texts())
        connection = psycopg2.connect(host=self.folder, user="postgres", dbname="postgres")
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE SCHEMA {quoted(name)}")
            cursor.execute(
                f"CREATE TABLE {quoted(name)}.sluice_migrations "
                "(version integer PRIMARY KEY, applied_at timestamptz NOT NULL)"
            )
            connection.commit()
            for version, text in enumerate(texts.values(), 1):
                cursor.execute("SELECT set_config('search_path', %s, true)", (f"{quoted(name)}, pg_temp",))
                cursor.execute(text)
                cursor.execute(
                    f"INSERT INTO {quoted(name)}.sluice_migrations VALUES (%s, clock_timestamp())", (version,)
                )
                connection.commit()
        connection.close()
        return name

    def drop_schema(self, name):
        connection = psycopg2.connect(host=self.folder, user="postgres", dbname="postgres")
        connection.autocommit = True
        connection.cursor().execute(f"DROP SCHEMA {quoted(name)} CASCADE")
        connection.close()


def quoted(name):
    return '"' + name.replace('"', '""') + '"'
