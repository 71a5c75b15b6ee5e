#!/bin/sh
# Start the team's MLflow server: runs and accounts in PostgreSQL, artifacts behind the server, nobody let in unnamed.
# Settings come from the environment; docker/README.md lists them. `serve.sh check` looks at them and starts nothing.
set -eu

refuse() {
    echo "refused: $*" >&2
    exit 2
}

# Secrets are told apart by their names only; their values never appear.
check_secret() {
    name=$1 least=$2
    eval "value=\${$name:-}"
    [ -n "$value" ] || refuse "$name is empty; choose a secret of $least characters or more, as make_env.sh does"
    case $(printf %s "$value" | tr '[:upper:]' '[:lower:]') in
        *password* | *passwort* | *changeme* | *change-me* | *change_me* | *secret* | *mlflow* | *admin* | *123456* | *qwert*)
            refuse "$name holds a word that everybody tries first; choose another secret, as make_env.sh does" ;;
    esac
    [ "${#value}" -ge "$least" ] || refuse "$name has ${#value} characters; choose $least or more, as make_env.sh does"
    [ "$(printf %s "$value" | fold -w1 | sort -u | wc -l)" -ge 6 ] \
        || refuse "$name repeats a few characters; choose another secret, as make_env.sh does"
}

check_given() {
    eval "value=\${$1:-}"
    [ -n "$value" ] || refuse "$1 is empty; $2"
}

check_secret MLFLOW_AUTH_ADMIN_PASSWORD 12
check_secret MLFLOW_FLASK_SERVER_SECRET_KEY 32
check_given MLFLOW_AUTH_ADMIN_USERNAME "name the first account, which may make others"
check_given GNZ_SERVER_DATABASE "give postgresql+psycopg://USER@HOST/DATABASE, and the password as PGPASSWORD"
check_given GNZ_SERVER_ARTIFACTS "give s3://BUCKET/FOLDER, or a folder"
case $GNZ_SERVER_DATABASE in
    postgresql+psycopg://*) ;;
    *) refuse "GNZ_SERVER_DATABASE is no postgresql+psycopg://USER@HOST/DATABASE" ;;
esac
# Else it would be in the list of processes, for everybody on the machine to read.
case ${GNZ_SERVER_DATABASE#*://} in
    *:*@*) refuse "GNZ_SERVER_DATABASE holds a password; take it out, and give it as PGPASSWORD" ;;
esac
case $GNZ_SERVER_ARTIFACTS in
    s3://*)
        check_given AWS_ACCESS_KEY_ID "name the key of the artifact store"
        check_secret AWS_SECRET_ACCESS_KEY 16 ;;
esac
[ "${1:-}" != check ] || exit 0

# A new file for each start, readable for this user only; it holds no secret.
umask 077
MLFLOW_AUTH_CONFIG_PATH=$(mktemp "${TMPDIR:-/tmp}/accounts.XXXXXX")
export MLFLOW_AUTH_CONFIG_PATH
# EDIT: a task has one experiment, into which everybody with an account may write. Deleting is left to its maker.
cat >"$MLFLOW_AUTH_CONFIG_PATH" <<END
[mlflow]
default_permission = EDIT
database_uri = $GNZ_SERVER_DATABASE
admin_username = $MLFLOW_AUTH_ADMIN_USERNAME
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
auth_cache_ttl_seconds = 60
END

export MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false
export MLFLOW_DISABLE_TELEMETRY=true
export MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT=true
# An artifact store that is away is said to be away soon: clients keep what they have, and write it later.
export AWS_MAX_ATTEMPTS="${AWS_MAX_ATTEMPTS:-2}"
if [ -n "${MLFLOW_S3_ENDPOINT_URL:-}" ]; then
    export MLFLOW_BOTO_CLIENT_ADDRESSING_STYLE="${MLFLOW_BOTO_CLIENT_ADDRESSING_STYLE:-path}"
else
    unset MLFLOW_S3_ENDPOINT_URL
fi

set -- server --app-name basic-auth \
    --backend-store-uri "$GNZ_SERVER_DATABASE" --artifacts-destination "$GNZ_SERVER_ARTIFACTS" \
    --host "${GNZ_SERVER_BIND:-127.0.0.1}" --port "${GNZ_SERVER_PORT:-5000}" --workers "${GNZ_SERVER_WORKERS:-2}"
[ -z "${GNZ_SERVER_HOSTS:-}" ] || set -- "$@" --allowed-hosts "$GNZ_SERVER_HOSTS"
[ -z "${GNZ_SERVER_ORIGINS:-}" ] || set -- "$@" --cors-allowed-origins "$GNZ_SERVER_ORIGINS"
exec "${PYTHON:-python}" -m mlflow "$@"
