package query

// computes are functions, of any database, that only compute, or tell what the database itself
// knows. A function that is missing makes a query ask. Left out on purpose: whatever sleeps, locks,
// reads or writes files, sends, changes settings or sequences, or runs text as SQL.
var computes = set(`
	abs acos acosh add_months adddate addtime age any_value approx_count_distinct approx_percentile area array_agg
	array_append array_cat array_contains array_dims array_length array_lower array_ndims array_position array_positions
	array_prepend array_remove array_replace array_size array_to_json array_to_string array_upper arrayagg ascii asin asinh atan
	atan2 atanh avg bin bit_and bit_count bit_length bit_or bit_xor bool_and bool_or broadcast btrim cardinality cast cbrt ceil ceiling
	char char_length character_length chr clock_timestamp coalesce col_description collation concat concat_ws contains conv convert
	corr cos cosh cot count countif covar_pop covar_samp crc32 cume_dist curdate current_catalog current_database current_date
	current_role current_schema current_schemas current_setting current_time current_timestamp current_user curtime database date
	date_add date_bin date_diff date_format date_part date_sub date_trunc datediff datename datepart datetime dateadd day dayname
	dayofmonth dayofweek dayofyear decode degrees dense_rank div elt encode endswith enum_range every exp extract factorial field
	find_in_set first first_value floor format format_type from_days from_unixtime gcd generate_series generate_subscripts get_bit
	get_byte getdate glob greatest group_concat grouping has_column_privilege has_database_privilege has_schema_privilege
	has_table_privilege hex hour if ifnull iif inet_aton inet_ntoa initcap insert instr interval isnull isfinite json json_agg
	json_array json_array_elements json_array_elements_text json_array_length json_arrayagg json_build_array json_build_object
	json_contains json_contains_path json_each json_each_text json_extract json_extract_path json_extract_path_text json_group_array
	json_group_object json_keys json_length json_object json_object_agg json_object_keys json_objectagg json_populate_record
	json_quote json_search json_strip_nulls json_to_record json_to_recordset json_tree json_type json_typeof json_unquote json_valid
	json_value jsonb jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
	jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path jsonb_extract_path_text jsonb_object_agg jsonb_object_keys
	jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_set
	jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_typeof julianday justify_days justify_hours justify_interval
	lag last last_day last_insert_id last_value lcase lcm lead least left len length like likelihood likely listagg ln localtime localtimestamp
	locate log log10 log2 lower lpad ltrim make_date make_interval make_time make_timestamp make_timestamptz makedate maketime
	max md5 median microsecond mid min minute mod mode month monthname months_between nanvl now nth_value ntile nullif num_nonnulls
	num_nulls nvl nvl2 obj_description octet_length ord overlay percent_rank percentile_cont percentile_disc period_add
	period_diff pg_backend_pid pg_column_size pg_database_size pg_encoding_to_char pg_get_constraintdef pg_get_expr pg_get_functiondef
	pg_get_indexdef pg_get_keywords pg_get_serial_sequence pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_index_column_has_property
	pg_indexes_size pg_is_in_recovery pg_postmaster_start_time pg_relation_size pg_size_bytes pg_size_pretty pg_table_is_visible
	pg_table_size pg_total_relation_size pg_typeof phraseto_tsquery pi plainto_tsquery point position pow power printf quarter quote
	quote_ident quote_literal quote_nullable radians rand random rank regexp regexp_count regexp_instr regexp_like regexp_match
	regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr regr_avgx regr_avgy regr_count
	regr_intercept regr_r2 regr_slope repeat replace reverse right round row_number row_to_json rpad rtrim safe_divide schema second
	session_user sha sha1 sha2 sha224 sha256 sha384 sha512 sign similarity sin sinh space split_part sqlite_version sqrt starts_with
	statement_timestamp std stddev stddev_pop stddev_samp str str_to_date strcmp strftime string_agg string_split string_to_array
	string_to_table strpos subdate substr substring substring_index subtime sum sysdate tan tanh text time time_bucket time_format time_to_sec
	timediff timeofday timestamp timestampadd timestampdiff to_ascii to_base64 to_char to_date to_days to_hex to_json to_jsonb
	to_number to_seconds to_timestamp to_tsquery to_tsvector total transaction_timestamp translate trim trim_array trunc truncate ts_headline
	ts_rank ts_rank_cd typeof ucase unhex unicode unistr unix_timestamp unlikely unnest upper user utc_date utc_time utc_timestamp uuid
	gen_random_uuid uuid_generate_v4 values var_pop var_samp variance version week weekday weekofyear websearch_to_tsquery width_bucket
	word_similarity xmlagg year yearweek zeroblob from_base64 isnumeric object_id object_name schema_name db_name newid
	row_count found_rows connection_id system_user is_uuid uuid_to_bin bin_to_uuid
	st_area st_asgeojson st_astext st_contains st_distance st_dwithin st_geomfromtext st_intersects st_length st_makepoint
	st_setsrid st_transform st_within st_x st_y cosine_distance l2_distance inner_product vector_dims
`)
