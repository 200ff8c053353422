-- +goose Up
SELECT 1; -- taken by what comes next
